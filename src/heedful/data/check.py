"""Checking a data set before training: what is wrong with it, where, and what to do.

Knows nothing of models. An error is what makes results wrong; a warning is worth a look.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from heedful.data.check_side import check_first, check_rows, check_side
from heedful.data.corpus import Pair, Reader
from heedful.data.finding import EXAMPLES, Finding, place_in
from heedful.data.stats import overlap
from heedful.data.survey import Numbers, SplitSurvey, duplicates, found_in, survey
from heedful.errors import ConfigError, HeedfulError, counted
from heedful.text.tokenizer import Tokenizers

OVERLAP_ALLOWED = 0.01  # of a held-out split: published data sets have a pair or two
DUPLICATES_ALLOWED = 0.05
SAME_ALLOWED = (0.01, 0.9)  # between: some lines were left untranslated; above: that is the task
RATIO_LIMIT = 4.0  # times as long as the length of the other side suggests
RATIO_CHARACTERS = 20  # the ratio of two short lines says nothing
NEARLY_ALL = 0.95  # share of pairs with one label a word, or one in all, by which a data set is one of labels
LABEL_RETURNS = 5  # times that a target must return, on average, to be a label

Labels = Literal["word", "source"]
WANTED: dict[Labels, str] = {"word": "a label for each word", "source": "one label for the source"}
USUAL: dict[Labels, str] = {
    "word": "as many words on both sides, as nearly all have",
    "source": "one word as target, as nearly all have",
}


class Limits(NamedTuple):
    """Limits that training will put on the data."""

    max_length: int = 256  # tokens of a side, above which a pair is left out
    max_tokens: int = 4096  # of a batch
    allow_overlap: bool = False
    labels: Labels | None = None  # what must have one label each: a word of a source, or the whole of it
    whole_words: bool | None = None  # whether targets are written in whole words; None where that is not known


class ReadSplits(NamedTuple):
    """Splits that were read to their ends, and those that could not be."""

    surveys: dict[str, SplitSurvey]
    unreadable: list[Finding]
    readers: Mapping[str, Reader]


def read_splits(
    splits: Mapping[str, Reader], tokenizers: Tokenizers | None = None, optional: Collection[str] = ()
) -> ReadSplits:
    """Read each split once; the one of training is called "train". Of the optional ones, any may be unreadable.

    Raises ConfigError for a file or a column that was named and is not there: that is no fault of the data.
    """
    surveys: dict[str, SplitSurvey] = {}
    unreadable: list[Finding] = []
    for split, read in splits.items():
        try:
            surveys[split] = survey(split, read(), tokenizers)
        except HeedfulError as error:
            if isinstance(error, ConfigError) and split not in optional:
                raise
            severity = "warning" if split in optional else "error"
            unreadable.append(Finding(severity, "unreadable", split, error.message, error.hint or ""))
    return ReadSplits(surveys, unreadable, splits)


def check_splits(read: ReadSplits, limits: Limits) -> list[Finding]:
    """List the problems within the splits and between them, errors first."""
    findings = list(read.unreadable)
    for split, found in read.surveys.items():
        findings += check_split(found, read.readers[split])
        findings += check_labels(found, limits)
    if (train := read.surveys.get("train")) is not None:
        for split, found in read.surveys.items():
            if split != "train":
                findings += check_overlap(train, found, allowed=limits.allow_overlap)
                findings += check_new_labels(train, found, limits)
        findings += check_lengths(train, limits)
    return sorted(findings, key=lambda finding: finding.severity != "error")


def check_split(found: SplitSurvey, read: Reader) -> Iterator[Finding]:
    """Yield the problems of one split; `read` opens it again, for the texts of examples."""
    for name, side in (("source", found.source), ("target", found.target)):
        yield from check_side(found.split, name, side)
    yield from check_rows(found)
    yield from check_first(found, read)
    if (repeated := duplicates(found.hashes)) > DUPLICATES_ALLOWED * found.pairs:
        text = f"{repeated:,} of {found.pairs:,} pairs ({repeated / found.pairs:.1%}) repeat an earlier pair."
        yield Finding("warning", "duplicates", found.split, text, "Remove them: they count more than once.")
    if SAME_ALLOWED[0] < found.same / found.pairs < SAME_ALLOWED[1]:
        share = f"{found.same:,} of {found.pairs:,} pairs ({found.same / found.pairs:.1%})"
        text = f"{share} have the same text on both sides."
        yield Finding("warning", "untranslated", found.split, text, "Remove them, unless copying is part of the task.")
    outliers = ratio_outliers(found)
    if len(outliers):
        shown = _texts(read(), outliers[:EXAMPLES].tolist())
        examples = "; ".join(f"{pair.source[:50]!r} / {pair.target[:50]!r}" for pair in shown)
        text = f"{counted(len(outliers), 'pair')} with a side far longer than the other suggests: {examples}."
        yield Finding("warning", "length ratio", place_in(found.split, outliers), text, "Are these lines aligned?")


def ratio_outliers(found: SplitSurvey) -> Numbers:
    """Return the numbers of pairs whose length ratio (in characters) is more than RATIO_LIMIT off the median one.

    Labels are as long as their names, whatever they stand for: where there are as many as nearly all pairs have, a pair
    is none.
    """
    source, target = found.source.characters, found.target.characters
    both = (source > 0) & (target > 0)
    ratios = np.log(np.maximum(target, 1) / np.maximum(source, 1))
    middle = np.median(ratios[both]) if both.any() else 0.0
    long = np.maximum(source, target) >= RATIO_CHARACTERS
    labels = labelled(found)
    odd = np.ones_like(both) if labels is None else found.target.words != _places(found, labels)
    return np.flatnonzero(both & long & odd & (np.abs(ratios - middle) > np.log(RATIO_LIMIT)))


def labelled(found: SplitSurvey) -> Labels | None:
    """Return the units that have one label each, to judge by nearly all pairs: a word of the source, or the whole of
    it, or neither.
    """
    source, target = found.source.words, found.target.words
    if np.mean(source == target) >= NEARLY_ALL and np.median(source) > 1:
        return "word"
    few = len(np.unique(found.target.hashes)) * LABEL_RETURNS <= found.pairs
    return "source" if few and np.mean(target == 1) >= NEARLY_ALL else None


def check_labels(found: SplitSurvey, limits: Limits) -> Iterator[Finding]:
    """Find pairs with another number of labels than the model needs, or, if it needs none, than nearly all pairs have.

    One word as target is no label where it is spelt.
    """
    wanted = limits.labels
    labels, severity, names = wanted, "error", WANTED
    if labels is None:
        labels, severity, names = labelled(found), "warning", USUAL
    if labels is None or (wanted is None and labels == "source" and limits.whole_words is False):
        return
    target = found.target.words if wanted is None or found.target.tokens is None else found.target.tokens
    places = _places(found, labels, tokens=wanted is not None)
    wrong = np.flatnonzero((target != places) & (target > 0))  # an empty line is a finding of its own
    if len(wrong):
        first = int(wrong[0])
        here = f"the first has {counted(int(target[first]), 'word' if wanted is None else 'label')}"
        here += f" for {counted(int(places[first]), 'word')}" if labels == "word" else ""
        text = f"{counted(len(wrong), 'pair')} without {names[labels]}: {here}."
        hint = "Is a label missing, or a word cut in two?"
        yield Finding(severity, "labels", place_in(found.split, wrong), text, hint)
    if wanted is not None and found.target.unknown:
        text = f"{counted(found.target.unknown, 'label')} that the vocabulary lacks."
        hint = "A label must stand in train, and tokenizer.target.vocab_size have room for it."
        yield Finding("warning", "unknown labels", found.split, text, hint)


def check_new_labels(train: SplitSurvey, held_out: SplitSurvey, limits: Limits) -> Iterator[Finding]:
    """Find held-out pairs whose one label is missing from train, unless their model spells its outputs."""
    new = np.flatnonzero(~np.isin(held_out.target.hashes, train.target.hashes))
    if limits.labels is not None or limits.whole_words is False or labelled(train) != "source" or not len(new):
        return
    text = f"{counted(len(new), 'pair')} with a label that never stands in train."
    hint = "A model that writes whole words, or gives labels, can never give it"
    hint += "." if limits.whole_words else "; one that writes characters or subwords can."
    yield Finding("warning", "unknown labels", place_in(held_out.split, new), text, hint)


def _places(found: SplitSurvey, labels: Labels, *, tokens: bool = False) -> Numbers:
    """Count the units that have a label, of each pair: words, or `tokens` where they are known."""
    source = found.source.tokens if tokens and found.source.tokens is not None else found.source.words
    return source if labels == "word" else np.ones_like(source)


def check_overlap(train: SplitSurvey, held_out: SplitSurvey, *, allowed: bool) -> Iterator[Finding]:
    """Find pairs and sources that are in the training data as well as in a held-out split.

    Equal targets are no finding: words that sound alike, or answers from a small set, are common.
    """
    found = overlap(train, held_out)
    for what, count, mine, theirs in (
        ("pairs", found.pair, held_out.hashes, train.hashes),
        ("sources", found.source, held_out.source.hashes, train.source.hashes),
    ):
        if count == 0 or (what == "sources" and count == found.pair):
            continue
        places = found_in(mine, theirs)
        first = int(np.flatnonzero(theirs == mine[places[0]])[0])
        share = count / found.pairs
        where = f"{count:,} of {found.pairs:,} {what} of {held_out.split} ({share:.1%})"
        text = f"In the training data too: {where}, the first at train:{first + 1}."
        hint = "Scores on pairs seen in training mean nothing: remove them from train"
        severity = "error" if share > OVERLAP_ALLOWED and not allowed else "warning"
        hint += " (data.allow_overlap = true trains all the same)." if severity == "error" else "."
        yield Finding(severity, "overlap", place_in(held_out.split, places), text, hint)


def check_lengths(train: SplitSurvey, limits: Limits) -> Iterator[Finding]:
    """Find training pairs that the limits leave out, or that are larger than a batch."""
    if train.source.tokens is None or train.target.tokens is None:
        return
    longest = np.maximum(train.source.tokens, train.target.tokens)
    dropped = np.flatnonzero(longest > limits.max_length)
    if len(dropped):
        beyond = f"more than max_length ({limits.max_length}) tokens, up to {longest.max():,}"
        text = f"{counted(len(dropped), 'pair')} with {beyond}."
        hint = "Training leaves them out, unless you raise `max_length`."
        yield Finding("warning", "too long", place_in("train", dropped), text, hint)
    over = np.flatnonzero((longest + 1 > limits.max_tokens) & (longest <= limits.max_length))
    if len(over):
        beyond = f"more tokens than a batch may have (max_tokens is {limits.max_tokens})"
        text = f"{counted(len(over), 'pair')} with {beyond}."
        hint = "Each is a batch of its own, for which memory may not suffice: lower `max_length`."
        yield Finding("warning", "batch", place_in("train", over), text, hint)


def _texts(pairs: Iterable[Pair], numbers: Sequence[int]) -> list[Pair]:
    """Read the pairs with these numbers (ascending)."""
    wanted = set(numbers)
    return [pair for number, pair in enumerate(islice(pairs, max(wanted) + 1)) if number in wanted]
