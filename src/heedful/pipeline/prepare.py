"""From raw pairs to what training reads: tokenisers, and the stores of train and dev, made once and kept with the run.

Knows no model.
"""

import json
import shutil
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from heedful.config import Tree, to_tree
from heedful.data.check import Finding, Limits, check_splits, read_splits
from heedful.data.config import DataConfig
from heedful.data.corpus import Fingerprint, FingerprintedPairs, Pair, fingerprint
from heedful.data.spool import refuse_streams
from heedful.data.store import PairStore, Possible, build_store, left_out_hints, open_store
from heedful.errors import CheckFailed, ConfigError, HeedfulError, counted
from heedful.models.config import EncoderOnlyConfig, TransformerConfig
from heedful.models.ctc_config import CTCConfig
from heedful.models.device import choose_device
from heedful.pipeline.absent import Unknown, absent_answers, stored_targets, unknown_labels
from heedful.recipe.recipe import Recipe
from heedful.recipe.splits import load_split, optional_splits, readers
from heedful.text.files import write_text
from heedful.text.tokenizer import Tokenizers, load_tokenizers, train_tokenizers
from heedful.text.vocabulary import EOS
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


def prepare(recipe: Recipe, folder: Path, report: Report, *, in_use: bool = False) -> Prepared:
    """Train the tokenisers and encode the corpora into `folder`, or open what is there, complete, of this recipe, and
    of the pairs that it names today.

    With `in_use` a model has learnt from what is there, and pairs that have changed since are a ConfigError. Raises
    HeedfulError for a corpus that cannot be read, and CheckFailed where dev or test pairs stand in the training data,
    before any work is done.
    """
    if isinstance(recipe.model, TransformerConfig) and recipe.model.output_bias:
        raise ConfigError("model.output_bias is of imported models, and is not trained.", hint="Leave it out.")
    check_surroundings(recipe)
    if not _is_there(recipe, folder, in_use):
        _check(recipe, report)
        shutil.rmtree(folder, ignore_errors=True)  # of another recipe, or left by a kill; it is made from the corpus
        corpus = _prepare(recipe, folder, report)
        made_from = {**_origin(recipe), "corpus": corpus}
        write_text(folder / DONE, json.dumps(made_from, ensure_ascii=False, indent=1) + "\n")
    prepared = Prepared(load_tokenizers(folder), open_store(folder / "train"), open_store(folder / "dev"))
    report("prepared", _facts(prepared))
    if recipe.model.one_vocabulary:
        for split, store in (("train", prepared.train), ("dev", prepared.dev)):
            _report_absent(split, store, report)
    elif isinstance(recipe.model, EncoderOnlyConfig):
        if recipe.model.labels is not None:
            _check_labels(recipe, prepared.train)
        report_unknown("dev", unknown_labels(stored_targets(prepared.dev)), len(prepared.dev), report)
    if recipe.model.reads_parts:
        _check_parts(recipe, prepared.train)
    return prepared


def check_surroundings(recipe: Recipe) -> None:
    """Raise ConfigError for a device that is not there, and for data that cannot be read again."""
    choose_device(recipe.training.device)
    refuse_streams([*recipe.data.train, *recipe.data.dev, *recipe.data.test])


def _is_there(recipe: Recipe, folder: Path, in_use: bool) -> bool:
    """Whether the folder holds what this recipe and its corpus come to."""
    if not (folder / DONE).is_file():
        return False
    made_from: Tree = json.loads((folder / DONE).read_text(encoding="utf-8"))
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
    """The first pair of a split that is not as it was stored, and how many there were and are."""
    number, index, first = 0, 0, ""
    for number, pair in enumerate(load_split(recipe.data, split), start=1):
        if index < len(store) and store.origin(index) + 1 == number:
            was = store.pair(index)
            if not first and was != pair:
                first = f"; the first that differs is {split}:{number}: {_shown(was)} -> {_shown(pair)}"
            index += 1
    return f"{split}: {len(store) + sum(store.dropped.values()):,} pairs -> {number:,} pairs{first}"


def _shown(pair: Pair) -> str:
    return f"{pair.source[:50]!r} / {pair.target[:50]!r}"


def _origin(recipe: Recipe) -> Tree:
    """Everything in a recipe that decides what is prepared, but for the pairs themselves."""
    parts = {"seed": recipe.seed, "data": to_tree(recipe.data), "tokenizer": to_tree(recipe.tokenizer)}
    if _possible(recipe) is not None:
        parts["model"] = to_tree(recipe.model)
    return parts


def _check(recipe: Recipe, report: Report) -> None:
    """Read all splits to their ends before anything is made of them."""
    report("checking", {})
    for finding in check_data(recipe.data, recipe.training.max_tokens, recipe.tokenizer.whole_words):
        what = f"{finding.place}: {finding.text}"
        if finding.kind == "unreadable" and finding.severity == "error":
            raise HeedfulError(finding.text, hint=finding.hint or None)
        if finding.severity == "error":
            raise CheckFailed(what, hint=finding.hint)
        report("data warning", {"text": what, "hint": finding.hint})


def check_data(
    data: DataConfig, max_tokens: int = Limits().max_tokens, whole_words: bool | None = None
) -> list[Finding]:
    """Read train, dev and test to their ends and say what is wrong, errors first; an empty list is good news.

    A split that cannot be read is a finding,
    not an exception; a warning only, where it is the test of a named data set, which training does not need. Raises
    ConfigError for a file or a column that was named and is not there.
    """
    limits = Limits(data.max_length, max_tokens, data.allow_overlap, whole_words=whole_words)
    return check_splits(read_splits(readers(data), None, optional_splits(data)), limits)


def _prepare(recipe: Recipe, folder: Path, report: Report) -> Tree:
    """Make tokenisers and stores; the fingerprints of train and dev."""
    report("tokenizers", {})
    tokenizers = train_tokenizers(recipe.tokenizer, load_split(recipe.data, "train"), recipe.seed)
    tokenizers.save(folder)
    report("encoding", {})
    train, dev = (FingerprintedPairs(load_split(recipe.data, split)) for split in ("train", "dev"))
    longest = recipe.data.max_length
    store = build_store(folder / "train", train, tokenizers, longest, _possible(recipe))
    if any(store.dropped.values()):
        report("data warning", _left_out(store, longest))
    build_store(folder / "dev", dev, tokenizers, NO_LIMIT)
    return {"train": train.fingerprint._asdict(), "dev": dev.fingerprint._asdict()}


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
    return {"text": text, "hint": " ".join(left_out_hints(store.dropped, max_length))}


def _report_absent(split: str, store: PairStore, report: Report) -> None:
    """Say which answers a model that answers with words of the source cannot give."""
    absent = absent_answers(store)
    if absent.count == len(store):
        hint = 'A reader answers with a word of the story; `kind = "memory"` answers with any word.'
        raise ConfigError(f"{split}: no story holds its answer, in any of {len(store):,} pairs.", hint=hint)
    if absent.first is not None:
        text = (
            f"{split}:{absent.first}: the first of {absent.count:,} answers, among {len(store):,}, that no story holds."
        )
        hint = 'They teach nothing and are never given; `kind = "memory"` answers with any word.'
        report("data warning", {"text": text, "hint": hint})


def _check_labels(recipe: Recipe, train: PairStore) -> None:
    """Raises ConfigError where the vocabulary has no room for all labels."""
    cut = unknown_labels(stored_targets(train))
    if cut.first is not None:
        text = f"train:{cut.first}: the first of {counted(cut.count, 'pair')}, among {len(train):,}"
        size = (recipe.tokenizer.target or recipe.tokenizer.source).vocab_size
        hint = f"Raise tokenizer.target.vocab_size, which is {size:,}."
        raise ConfigError(f"{text}, with a label for which the vocabulary has no room.", hint=hint)


def _check_parts(recipe: Recipe, train: PairStore) -> None:
    """Raises ConfigError where no source has parts, though the model reads them."""
    if not any((train.arrays(index)[0] == EOS).any() for index in range(len(train))):
        message = f"train: `{recipe.tokenizer.source.separator}` stands in no source, so that none has parts."
        raise ConfigError(message, hint="Set tokenizer.source.separator to the word that stands between them.")


def report_unknown(split: str, unknown: Unknown, pairs: int, report: Report) -> None:
    """Say which labels of a split no model that is trained on these pairs can give; ConfigError where that is all."""
    if unknown.first is None:
        return
    if not unknown.any_known:
        hint = "Are these the labels of the same task?"
        raise ConfigError(f"{split}: training has none of the labels of its {counted(pairs, 'pair')}.", hint=hint)
    text = f"{split}:{unknown.first}: the first of {counted(unknown.count, 'pair')}, among {pairs:,}"
    hint = "It is never given and counts as wrong. Is it misspelt?"
    report("data warning", {"text": f"{text}, with a label that no training pair has.", "hint": hint})


def _facts(prepared: Prepared) -> dict[str, Any]:
    return {
        "train_pairs": len(prepared.train),
        "dev_pairs": len(prepared.dev),
        "dropped": prepared.train.dropped,
        "source_size": len(prepared.tokenizers.source),
        "target_size": len(prepared.tokenizers.target),
        "data_fingerprint": prepared.train.fingerprint,
    }
