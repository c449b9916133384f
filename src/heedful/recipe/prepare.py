"""From raw pairs to what training reads: tokenisers, and the stores of train and dev, made once and kept with the run.

Knows no model.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from heedful.data.catalogue import load_split
from heedful.data.check import check_data
from heedful.data.store import PairStore, build_store, open_store
from heedful.errors import CheckFailed, HeedfulError
from heedful.recipe.recipe import Recipe
from heedful.text.tokenizer import Tokenizers, load_tokenizers, train_tokenizers

DONE = "prepared"
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
    """Train the tokenisers and encode the corpora into `folder`, or open what is there already, complete.

    Raises HeedfulError for a corpus that cannot be read, and CheckFailed where dev or test pairs stand in the training
    data, before any work is done.
    """
    if not (folder / DONE).exists():
        _check(recipe, report)
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted preparation left; it is made from the corpus
        folder.mkdir(parents=True)
        _prepare(recipe, folder, report)
        (folder / DONE).touch()
    prepared = Prepared(load_tokenizers(folder), open_store(folder / "train"), open_store(folder / "dev"))
    report("prepared", _facts(prepared))
    return prepared


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
    build_store(folder / "train", load_split(recipe.data, "train"), tokenizers, recipe.data.max_length)
    build_store(folder / "dev", load_split(recipe.data, "dev"), tokenizers, NO_LIMIT)


def _facts(prepared: Prepared) -> dict[str, Any]:
    return {
        "train_pairs": len(prepared.train),
        "dev_pairs": len(prepared.dev),
        "dropped": prepared.train.dropped,
        "source_size": len(prepared.tokenizers.source),
        "target_size": len(prepared.tokenizers.target),
        "data_fingerprint": prepared.train.fingerprint,
    }
