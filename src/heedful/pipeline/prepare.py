"""From raw pairs to what training reads: tokenisers, and the stores of train and dev, made once and kept with the run.

Knows no model.
"""

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, final

from heedful.config import Tree, to_tree
from heedful.data.check import Finding, Limits, check_splits, read_splits
from heedful.data.config import DataConfig
from heedful.data.corpus import Fingerprint, FingerprintedPairs, Pair, Reader, fingerprint
from heedful.data.spool import refuse_streams
from heedful.data.store import PairStore, build_store, left_out_hints, open_store
from heedful.errors import CheckFailed, ConfigError, HeedfulError
from heedful.events import Report
from heedful.models.device import choose_device
from heedful.models.transformer_config import TransformerConfig
from heedful.recipe.recipe import Recipe
from heedful.recipe.splits import load_split, optional_splits, readers
from heedful.records.checksums import check_files, write_checksums
from heedful.tasks.table import task_of
from heedful.tasks.task import EncodedCorpus
from heedful.text.atomic_files import replacing_folder, write_text
from heedful.text.tokenizer import TRAINING_LINES, Reservoir, load_tokenizers, train_tokenizers

DONE = "prepared"  # written last; holds what it was made from
NO_LIMIT = 1 << 30  # dev pairs of any length count
IDENTITY = ("train_pairs", "dev_pairs", "data_fingerprint", "dev_fingerprint", "tokenizers")  # of what was prepared


def prepare(recipe: Recipe, folder: Path, report: Report, *, learnt: Mapping[str, Any] | None = None) -> EncodedCorpus:
    """Train the tokenisers and encode the corpora into `folder`, or open what is there, complete, of this recipe, and
    of the pairs that it names today.

    `learnt` is the last event `prepared` of a run whose model has learnt from what is there: pairs that have changed
    since are a ConfigError, whether the folder is still there or not. Raises HeedfulError for a corpus that cannot be
    read, and CheckFailed where dev or test pairs stand in the training data, before any work is done.
    """
    if isinstance(recipe.model, TransformerConfig) and recipe.model.output_bias:
        raise ConfigError("model.output_bias is of imported models, and is not trained.", hint="Leave it out.")
    check_surroundings(recipe)
    if (prepared := _there(recipe, folder, report, in_use=learnt is not None)) is None:
        first = _check(recipe, report)
        with replacing_folder(folder) as partial:  # what is there is of another recipe, or damaged
            corpus = _prepare(recipe, partial, first, report)
            made_from = {**_origin(recipe), "corpus": corpus}
            write_text(partial / DONE, json.dumps(made_from, ensure_ascii=False, indent=1) + "\n")
            write_checksums(partial, sorted(path.name for path in partial.iterdir() if path.is_file()))
            prepared = open_prepared(partial)
            _refuse_others(learnt or {}, _facts(prepared))
    report("prepared", _facts(prepared))
    for split, store in (("train", prepared.train), ("dev", prepared.dev)):
        recipe.model.check_pairs(split, store, report)
    task_of(recipe.model).check_labels(recipe.model, prepared, report)
    return prepared


def check_surroundings(recipe: Recipe) -> None:
    """Raise ConfigError for a device that is not there, and for data that cannot be read again."""
    choose_device(recipe.training.device)
    refuse_streams([*recipe.data.train, *recipe.data.dev, *recipe.data.test])


def open_prepared(folder: Path) -> EncodedCorpus:
    """Open what was prepared. Raises HeedfulError where a part of it is missing or not as it was written."""
    check_files(folder)
    prepared = EncodedCorpus(load_tokenizers(folder), open_store(folder / "train"), open_store(folder / "dev"))
    own = tuple(tokenizer.fingerprint for tokenizer in prepared.tokenizers)
    for split, store in (("train", prepared.train), ("dev", prepared.dev)):
        if store.tokenizer_fingerprints != own:
            hint = f"Remove {folder}: `heedful train --resume RUN` makes it anew."
            raise HeedfulError(f"{folder / split} was encoded by other tokenizers than those beside it.", hint=hint)
    return prepared


def _there(recipe: Recipe, folder: Path, report: Report, *, in_use: bool) -> EncodedCorpus | None:
    """Open what the folder holds, if it was made of this recipe and its corpus."""
    if not (folder / DONE).is_file():
        return None
    try:
        prepared = open_prepared(folder)
        made_from: Tree = json.loads((folder / DONE).read_text(encoding="utf-8"))
        return prepared if _is_of(recipe, folder, made_from, in_use=in_use) else None
    except (HeedfulError, ValueError, RecursionError) as damage:
        if isinstance(damage, ConfigError):
            raise
        report("data warning", {"text": str(damage).splitlines()[0], "hint": "It is made anew from the corpus."})
        return None


def _is_of(recipe: Recipe, folder: Path, made_from: Tree, *, in_use: bool) -> bool:
    """Return whether this was made of the recipe and of the pairs that it names today."""
    corpus = made_from.pop("corpus", None)
    if made_from != _origin(recipe):
        return False
    if corpus is None:  # before heedful kept fingerprints
        return in_use
    former = {split: Fingerprint(**facts) for split, facts in corpus.items()}
    changed = [split for split in former if fingerprint(load_split(recipe.data, split)) != former[split]]
    if changed and in_use:
        lines = [f"  {_first_change(recipe, split, open_store(folder / split))}" for split in changed]
        hint = "Put the former data back, or begin another run with these: run=NAME."
        raise ConfigError("The data have changed since this run began:\n" + "\n".join(lines), hint=hint)
    return not changed


def _first_change(recipe: Recipe, split: str, store: PairStore) -> str:
    """Describe the first pair of a split that is not as it was stored, and how many there were and are."""
    number, index, first = 0, 0, ""
    for number, pair in enumerate(load_split(recipe.data, split), start=1):
        if index < len(store) and store.origin(index) + 1 == number:
            was = store.pair(index)
            if not first and was != pair:
                first = f"; the first that differs is {split}:{number}: {_shown(was)} -> {_shown(pair)}"
            index += 1
    return f"{split}: {len(store) + sum(store.dropped.values()):,} pairs -> {number:,} pairs{first}"


def _refuse_others(learnt: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Raise ConfigError where a model has learnt from other data than what was made of the corpus now."""
    changed = [name for name in IDENTITY if name in learnt and learnt[name] != found[name]]
    if changed:
        lines = [f"  {name}: {learnt[name]} -> {found[name]}" for name in changed]
        hint = "Put the former data back, or begin another run with these: run=NAME."
        raise ConfigError("The data have changed since this run began:\n" + "\n".join(lines), hint=hint)


def _shown(pair: Pair) -> str:
    return f"{pair.source[:50]!r} / {pair.target[:50]!r}"


def _origin(recipe: Recipe) -> Tree:
    """Return everything in a recipe that decides what is prepared, but for the pairs themselves."""
    parts = {"seed": recipe.seed, "data": to_tree(recipe.data), "tokenizer": to_tree(recipe.tokenizer)}
    if task_of(recipe.model).learnable(recipe.model) is not None:
        parts["model"] = to_tree(recipe.model)
    return parts


@final
class _FirstReading:
    """The first of two readings of the training data: whoever checks them reads them, and on their way a sample is
    drawn for the tokenisers, and a fingerprint taken.
    """

    def __init__(self, read: Reader, seed: int) -> None:
        self._read, self._pairs = read, FingerprintedPairs(())
        self.sample = Reservoir[Pair](TRAINING_LINES, seed)
        self._begun = False

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the pairs that passed."""
        return self._pairs.fingerprint

    def __call__(self) -> Iterable[Pair]:
        """Return the pairs; when they are read again, for examples, nothing is counted twice."""
        if self._begun:
            return self._read()
        self._begun, self._pairs = True, FingerprintedPairs(self._read())
        return self._passing()

    def _passing(self) -> Iterator[Pair]:
        for pair in self._pairs:
            self.sample.add(pair)
            yield pair


def _check(recipe: Recipe, report: Report) -> _FirstReading:
    """Read all splits to their ends before anything is made of them, and keep what tokenisers learn from."""
    report("checking", {})
    splits = readers(recipe.data)
    splits["train"] = first = _FirstReading(splits["train"], recipe.seed)
    read = read_splits(splits, None, optional_splits(recipe.data))
    for finding in check_splits(read, _limits(recipe.data, recipe.training.max_tokens, recipe.tokenizer.whole_words)):
        what = f"{finding.place}: {finding.text}"
        if finding.kind == "unreadable" and finding.severity == "error":
            raise HeedfulError(finding.text, hint=finding.hint or None)
        if finding.severity == "error":
            raise CheckFailed(what, hint=finding.hint)
        report("data warning", {"text": what, "hint": finding.hint})
    return first


def check_data(
    data: DataConfig, max_tokens: int = Limits().max_tokens, whole_words: bool | None = None
) -> list[Finding]:
    """Read train, dev and test to their ends and say what is wrong, errors first; an empty list is good news.

    A split that cannot be read is a finding, not an exception; a warning only, where it is the test of a named data
    set, which training does not need. Raises ConfigError for a file or a column that was named and is not there.
    """
    read = read_splits(readers(data), None, optional_splits(data))
    return check_splits(read, _limits(data, max_tokens, whole_words))


def _limits(data: DataConfig, max_tokens: int, whole_words: bool | None) -> Limits:
    return Limits(data.max_length, max_tokens, data.allow_overlap, whole_words=whole_words)


def _prepare(recipe: Recipe, folder: Path, first: _FirstReading, report: Report) -> Tree:
    """Make tokenisers of what was read first, then read train and dev to encode them; return their fingerprints."""
    report("tokenizers", {})
    tokenizers = train_tokenizers(recipe.tokenizer, first.sample.items(), recipe.seed)
    tokenizers.save(folder)
    report("encoding", {})
    train, dev = (FingerprintedPairs(load_split(recipe.data, split)) for split in ("train", "dev"))
    longest = recipe.data.max_length
    store = build_store(folder / "train", train, tokenizers, longest, task_of(recipe.model).learnable(recipe.model))
    if train.fingerprint != first.fingerprint:
        hint = "Does another program write them? Begin again when it has ended."
        raise HeedfulError("The training data changed while they were read.", hint=hint)
    if any(store.dropped.values()):
        report("data warning", _left_out(store, longest))
    build_store(folder / "dev", dev, tokenizers, NO_LIMIT)
    return {"train": train.fingerprint._asdict(), "dev": dev.fingerprint._asdict()}


def _left_out(store: PairStore, max_length: int) -> dict[str, str]:
    """List the training pairs that the store lacks, and why."""
    # Those before it are all there, so that their numbers are still their places.
    first = bisect_left(range(len(store)), 1, key=lambda index: store.origin(index) - index)
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in store.dropped.items() if count)
    total = len(store) + sum(store.dropped.values())
    text = f"train:{first + 1}: the first of the pairs that are left out: of {total:,} pairs {reasons}."
    return {"text": text, "hint": " ".join(left_out_hints(store.dropped, max_length))}


def _facts(prepared: EncodedCorpus) -> dict[str, Any]:
    return {
        "train_pairs": len(prepared.train),
        "dev_pairs": len(prepared.dev),
        "dropped": prepared.train.dropped,
        "source_size": len(prepared.tokenizers.source),
        "target_size": len(prepared.tokenizers.target),
        "data_fingerprint": prepared.train.fingerprint,
        "dev_fingerprint": prepared.dev.fingerprint,
        "tokenizers": [tokenizer.fingerprint for tokenizer in prepared.tokenizers],
    }
