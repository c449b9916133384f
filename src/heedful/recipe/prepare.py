"""From raw pairs to what training reads: tokenisers, and the stores of train and dev, made once and kept with the run.

Knows no model.
"""

import json
import shutil
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from heedful.config import to_tree
from heedful.data.catalogue import load_split
from heedful.data.check import check_data
from heedful.data.store import PairStore, Possible, build_store, open_store
from heedful.errors import CheckFailed, ConfigError, HeedfulError
from heedful.models.config import TransformerConfig
from heedful.models.ctc_config import CTCConfig
from heedful.recipe.absent import absent_answers
from heedful.recipe.recipe import Recipe
from heedful.text.files import write_text
from heedful.text.tokenizer import Tokenizers, load_tokenizers, train_tokenizers
from heedful.training.ctc import needed_places

DONE = "prepared"  # written last; holds what it was made from
NO_LIMIT = 1 << 30  # dev pairs of any length count


class Report(Protocol):
    """Told of what happens while it happens: an event's name and its facts."""

    def __call__(self, event: str, facts: Mapping[str, Any], /) -> None: ...


class Prepared(NamedTuple):
    """What training reads."""

    tokenizers: Tokenizers
    train: PairStore
    dev: PairStore


def prepare(recipe: Recipe, folder: Path, report: Report) -> Prepared:
    """Train the tokenisers and encode the corpora into `folder`, or open what is there, complete and of this recipe.

    Raises HeedfulError for a corpus that cannot be read, and CheckFailed where dev or test pairs stand in the training
    data, before any work is done.
    """
    if isinstance(recipe.model, TransformerConfig) and recipe.model.output_bias:
        raise ConfigError("model.output_bias is of imported models, and is not trained.", hint="Leave it out.")
    made_from = _origin(recipe)
    if not (folder / DONE).is_file() or (folder / DONE).read_text(encoding="utf-8") != made_from:
        _check(recipe, report)
        shutil.rmtree(folder, ignore_errors=True)  # of another recipe, or left by a kill; it is made from the corpus
        _prepare(recipe, folder, report)
        write_text(folder / DONE, made_from)
    prepared = Prepared(load_tokenizers(folder), open_store(folder / "train"), open_store(folder / "dev"))
    report("prepared", _facts(prepared))
    if recipe.model.one_vocabulary:
        for split, store in (("train", prepared.train), ("dev", prepared.dev)):
            _report_absent(split, store, report)
    return prepared


def _origin(recipe: Recipe) -> str:
    """Everything in a recipe that decides what is prepared."""
    parts = {"seed": recipe.seed, "data": to_tree(recipe.data), "tokenizer": to_tree(recipe.tokenizer)}
    if _possible(recipe) is not None:
        parts["model"] = to_tree(recipe.model)
    return json.dumps(parts, ensure_ascii=False, indent=1) + "\n"


def _check(recipe: Recipe, report: Report) -> None:
    """Read all splits to their ends before anything is made of them."""
    report("checking", {})
    for finding in check_data(recipe.data, max_tokens=recipe.training.max_tokens):
        what = f"{finding.place}: {finding.text}"
        if finding.kind == "unreadable" and finding.severity == "error":
            raise HeedfulError(finding.text, hint=finding.hint or None)
        if finding.severity == "error":
            raise CheckFailed(what, hint=finding.hint)
        report("data warning", {"text": what, "hint": finding.hint})


def _prepare(recipe: Recipe, folder: Path, report: Report) -> None:
    report("tokenizers", {})
    tokenizers = train_tokenizers(recipe.tokenizer, load_split(recipe.data, "train"), recipe.seed)
    tokenizers.save(folder)
    report("encoding", {})
    train, longest = load_split(recipe.data, "train"), recipe.data.max_length
    store = build_store(folder / "train", train, tokenizers, longest, _possible(recipe))
    if any(store.dropped.values()):
        report("data warning", _left_out(store, longest))
    build_store(folder / "dev", load_split(recipe.data, "dev"), tokenizers, NO_LIMIT)


def _possible(recipe: Recipe) -> Possible | None:
    """Which pairs a CTC model that shall leave out the impossible ones can learn; None for all other models."""
    model = recipe.model
    if not isinstance(model, CTCConfig) or not model.drop_impossible:
        return None
    return lambda source, target: model.places(len(source)) >= needed_places(target)


def _left_out(store: PairStore, max_length: int) -> dict[str, str]:
    """Which training pairs the store lacks, and why."""
    first = bisect_left(
        range(len(store)), 1, key=lambda index: store.origin(index) - index
    )  # those before are all there
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in store.dropped.items() if count)
    total = len(store) + sum(store.dropped.values())
    text = f"train:{first + 1}: the first of the pairs that are left out: of {total:,} pairs {reasons}."
    hint = f"data.max_length is {max_length} tokens; `heedful data stats` shows the lengths."
    if store.dropped.get("impossible"):
        hint += " CTC cannot learn the impossible ones: model.upsample gives their targets more places."
    return {"text": text, "hint": hint}


def _report_absent(split: str, store: PairStore, report: Report) -> None:
    """Say which answers a model that answers with words of the source cannot give."""
    absent = absent_answers(store)
    if absent.first is not None:
        text = (
            f"{split}:{absent.first}: the first of {absent.count:,} answers, among {len(store):,}, that no story holds."
        )
        hint = 'They teach nothing and are never given; `kind = "memory"` answers with any word.'
        report("data warning", {"text": text, "hint": hint})


def _facts(prepared: Prepared) -> dict[str, Any]:
    return {
        "train_pairs": len(prepared.train),
        "dev_pairs": len(prepared.dev),
        "dropped": prepared.train.dropped,
        "source_size": len(prepared.tokenizers.source),
        "target_size": len(prepared.tokenizers.target),
        "data_fingerprint": prepared.train.fingerprint,
    }
