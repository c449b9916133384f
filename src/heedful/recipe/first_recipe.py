"""A first recipe for somebody's data: which preset suits it, and the whole file with a comment at every key.

Knows no model; looks at no more of the data than it needs.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from heedful.config import Layer, Tree, parse_overrides, to_toml
from heedful.data.corpus import Pair
from heedful.data.spool import refuse_streams
from heedful.datasets.named import DataSetFacts
from heedful.errors import ConfigError
from heedful.recipe.recipe import Recipe, resolve_recipe
from heedful.recipe.splits import find_data_set, load_split
from heedful.text.output_files import write_output

LOOK_AT = 1000  # pairs that show whether a source is a word or a sentence
USUAL = "multi30k-tiny"
MANY_PAIRS = 500_000  # from here on the paper's base model is worth its time


class Suggestion(NamedTuple):
    """A preset, and why this one."""

    preset: str
    reason: str


def suggest_preset(pairs: Iterable[Pair]) -> Suggestion:
    """Suggest a preset: for single words "character"; for sentences "multi30k-tiny", or "paper-base" where there are
    many.
    """
    pairs = iter(pairs)
    first = list(islice(pairs, LOOK_AT))
    words = sum(len(pair.source.split()) == 1 for pair in first)
    if 2 * words > len(first):
        return Suggestion("character", f"{words} of the first {len(first)} sources are single words")
    if len(first) + sum(1 for _ in islice(pairs, MANY_PAIRS)) < MANY_PAIRS:
        return Suggestion(USUAL, f"there are fewer than {MANY_PAIRS:,} pairs of sentences")
    return Suggestion("paper-base", f"there are {MANY_PAIRS:,} pairs of sentences or more")


def preset_for(about: DataSetFacts) -> Suggestion:
    """Choose by what is known of a named data set, which need not be here yet."""
    if about.form == "words":
        return Suggestion("character", f"the sources of {about.name} are single words")
    if about.form == "tags":
        return Suggestion("tagger", f"{about.name} has a tag for each word")
    if about.form != "sentences":
        return Suggestion(USUAL, f"no preset is made for {about.form}: change [model] and [tokenizer]")
    return Suggestion(USUAL, f"{about.name} has pairs of sentences")


def first_recipe(preset: str | None, splits: dict[str, Sequence[str]], overrides: Sequence[str]) -> tuple[str, str]:
    """Write the text of a complete recipe, and a sentence about the choice of its preset.

    `splits` maps train, dev and test to their paths. Without a `preset` the training data decides; without data the
    recipe holds file names to be edited.
    """
    command_line = parse_overrides(overrides)
    data: Tree = {split: list(paths) for split, paths in splits.items() if paths}
    named = data.get("train") or command_line.values.get("data")
    preset = preset or command_line.values.get("preset")
    if preset is not None:
        reason = f"Preset {preset}, as you said."
    elif named and (own := _complete(USUAL, data, command_line).data).train:
        refuse_streams([*own.train, *own.dev, *own.test])
        preset, why = suggest_preset(load_split(own, "train"))
        reason = f"Preset {preset}, because {why}."
    elif named and own.catalogue is not None:
        preset, why = preset_for(find_data_set(own.catalogue).about)
        reason = f"Preset {preset}, because {why}."
    else:
        preset, reason = USUAL, f"Preset {USUAL}, for tens of thousands of pairs of sentences."
    if not named:
        data = {split: [f"{split}.source", f"{split}.target"] for split in ("train", "dev", "test")}
        reason += " The file names under [data] are examples: put yours there."
    return to_toml(_complete(preset, data, command_line), comments=True), reason


def _complete(preset: str, data: Tree, command_line: Layer) -> Recipe:
    start = Layer("heedful init", {"preset": preset, "data": data} if data else {"preset": preset})
    return resolve_recipe([start, command_line]).config


def refuse_existing(path: Path) -> None:
    """Refuse a place that is taken. Raises ConfigError where there is something already."""
    if path.exists():
        raise ConfigError(f"{path} exists already, and stays as it is.", hint="Name another file with --output.")


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet. An existing one is a ConfigError and stays as it is."""
    refuse_existing(path)
    write_output(path, text.encode())
