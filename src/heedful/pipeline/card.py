"""The model card: README.md of a bundle, with the front matter that Hugging Face reads.

It says what the model is, what it was made from and under which licence, how good it was and by which signature, how to
use it, and what it is not for. Knows no weights; says nothing that the recipe, the run or the scores do not say.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import heedful
from heedful.data.config import DataConfig
from heedful.evaluation.metrics import label_of
from heedful.pipeline.evaluate_split import describe_search
from heedful.recipe.recipe import Recipe
from heedful.recipe.splits import named
from heedful.records.results import Result

NOT_STATED = "not stated"
LANGUAGES = {  # ISO 639 codes of the languages of the named data sets
    "Adyghe": "ady",
    "Armenian": "hy",
    "Basque": "eu",
    "Bulgarian": "bg",
    "Catalan": "ca",
    "Dutch": "nl",
    "English": "en",
    "French": "fr",
    "Georgian": "ka",
    "German": "de",
    "Greek": "el",
    "Hungarian": "hu",
    "Icelandic": "is",
    "Italian": "it",
    "Japanese": "ja",
    "Khmer": "km",
    "Korean": "ko",
    "Latvian": "lv",
    "Maltese": "mt",
    "Romanian": "ro",
    "Serbo-Croatian": "hbs",
    "Slovene": "sl",
    "Slovenian": "sl",
    "Vietnamese": "vi",
    "Welsh": "cy",
}

CARD = """{front_matter}

# {title}

Kind of model: {summary}; {parameters:,} parameters. Made with heedful {version}.
The weights are those of {weights}, after {update:,} updates, with seed {seed}.

## Data

{data}

The licence of the weights is not stated: whoever publishes them says so here, and in `license` at the top.

## Scores

{scores}

## Use

```python
import heedful

translator = heedful.load("FOLDER")  # the folder of this file
print(translator.translate(["..."])[0].text)
```

```sh
heedful translate FOLDER input.txt > output.txt  # a line in, a line out
heedful inspect FOLDER "..." --html look.html    # what the model attends to
```

Unless asked otherwise it searches as it was scored: `{search}`.

## Limits

{limits}
"""


class Provenance(NamedTuple):
    """Provenance of the model: its size, its checkpoint, and what the run logged of the prepared data."""

    parameters: int
    weights: str
    update: int
    prepared: Mapping[str, Any]


def model_card(recipe: Recipe, made: Provenance, scores: Sequence[Result]) -> str:
    """Return the card. `scores` are those of the finished model on its final split; empty while they are not known."""
    sides = _sides(recipe.data)
    return CARD.format(
        front_matter=_front_matter(recipe, sides),
        title=f"{sides.source} to {sides.target}" if NOT_STATED not in sides else "A Heedful model",
        summary=recipe.model.summary,
        parameters=made.parameters,
        version=heedful.__version__,
        weights=made.weights,
        update=made.update,
        seed=recipe.seed,
        data=_list(_data(recipe.data, sides, made.prepared)),
        scores=_scores(scores),
        search=describe_search(recipe.search, recipe.model),
        limits=_list(_limits(recipe, scores)),
    )


class _Sides(NamedTuple):
    """Languages or kinds of text on each side of the data."""

    source: str
    target: str


def _sides(data: DataConfig) -> _Sides:
    """Say what the catalogue says, or the endings of two aligned files, such as train.en and train.de.gz."""
    if data.catalogue is not None:
        about = named(data).about
        return _Sides(about.source_language, about.target_language)
    endings = [PurePath(path.removesuffix(".gz")).suffix[1:] for path in data.train]
    if len(set(endings)) == 2 and all(re.fullmatch("[a-z]{2}", ending) for ending in endings):
        return _Sides(*endings)
    return _Sides(NOT_STATED, NOT_STATED)


def _front_matter(recipe: Recipe, sides: _Sides) -> str:
    """Write YAML, in which every JSON string is a string."""
    codes = dict.fromkeys(code for side in sides for name, code in LANGUAGES.items() if name in side or code == side)
    fields = {
        "library_name": "heedful",
        "license": "unknown",
        "language": list(codes),
        "tags": ["heedful", recipe.model.kind],
        "metrics": list(recipe.evaluation.metrics),
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items() if value]
    return "\n".join(["---", *lines, "---"])


def _data(data: DataConfig, sides: _Sides, prepared: Mapping[str, Any]) -> list[str]:
    if data.catalogue is not None:
        about = named(data).about
        what, licence = f"the named data set `{about.name}` ({about.description})", about.licence
    else:
        files = ", ".join(f"`{PurePath(path).name}`" for path in data.train)  # a folder's name is nobody's business
        what, licence = f"files of its own: {files}", NOT_STATED
    facts = [f"Trained on {what}", f"Licence of the data: {licence}"]
    facts += [f"Source: {sides.source}", f"Target: {sides.target}"]
    if prepared:
        dropped = sum(prepared["dropped"].values())
        left_out = f"; {dropped:,} left out" if dropped else ""
        counts = f"{prepared['train_pairs']:,} to train on, {prepared['dev_pairs']:,} to choose the checkpoint by"
        facts.append(f"Pairs: {counts}{left_out}")
    return facts


def _scores(scores: Sequence[Result]) -> str:
    if not scores:
        return "Not measured yet."
    rows = [
        f"| {label_of(one.metric)} | {one.value:.2f} | {_interval(one)} | {one.n:,} | {one.split} |" for one in scores
    ]
    table = ["| metric | value | 95 % interval | n | split |", "|---|---|---|---|---|", *rows]
    signatures = [f"- {label_of(one.metric)}: `{one.signature}`" for one in scores]
    warning = "Their signatures; only scores of the same data and metric may be compared:"
    return "\n".join([*table, "", warning, "", *signatures])


def _interval(score: Result) -> str:
    return "" if score.ci_low is None or score.ci_high is None else f"{score.ci_low:.2f} to {score.ci_high:.2f}"


def _limits(recipe: Recipe, scores: Sequence[Result]) -> list[str]:
    """Say what the recipe makes certain, and no more."""
    target = recipe.tokenizer.target or recipe.tokenizer.source
    said = [
        "It was scored on data like those that it was trained on. Of others (another domain, language or spelling) "
        "nothing is known: score it on yours with `heedful evaluate FOLDER --source FILE --reference FILE`.",
        "It gives an output also where no output is right, and does not know its own errors. It is not for uses in "
        "which a wrong output does harm before somebody has read it.",
        "One run with one seed: another seed gives other scores.",
    ]
    if recipe.tokenizer.source.kind != "speech":
        said.append(
            f"Training left out pairs of more than {recipe.data.max_length:,} tokens on a side; an input of more than "
            f"{recipe.search.max_source:,} is cut into parts."
        )
    if recipe.tokenizer.source.lowercase:
        said.append("Inputs are read in lower case.")
    if target.lowercase:
        said.append("Outputs are in lower case.")
    if any(one.split == "dev" for one in scores):
        said.append(
            "There was no test set: the scored pairs also chose the checkpoint, so that the scores are too good."
        )
    if recipe.data.allow_overlap:
        said.append("Pairs of dev or test were allowed to stand in the training data, so that scores may be too good.")
    return said


def _list(items: Sequence[str]) -> str:
    return "\n".join(f"- {item.rstrip('.')}." for item in items)
