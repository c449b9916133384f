"""Statistics of a data set: sizes, lengths, duplicates, overlaps, unknown symbols, and the largest batch.

Knows nothing of what is good or bad: see `heedful.data.check`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from heedful.data.batch import BatchPlan
from heedful.data.survey import Numbers, SideSurvey, SplitSurvey, duplicates, found_in

PERCENTILES = (0, 25, 50, 75, 90, 99, 100)


class SideStats(NamedTuple):
    """One side of a split. Percentiles are of the lengths of its lines."""

    words: int
    empty: int
    distinct: int  # different lines, but for case, Unicode form and white space
    alphabet: int  # different characters
    word_percentiles: dict[int, int]
    character_percentiles: dict[int, int]
    token_percentiles: dict[int, int] | None  # None without a tokeniser, like the next
    unknown_rate: float | None  # share of UNK among all tokens


class SplitStats(NamedTuple):
    """A split."""

    split: str
    pairs: int
    duplicates: int  # pairs that repeat an earlier one
    same: int  # pairs whose sides are equal
    source: SideStats
    target: SideStats


class Overlap(NamedTuple):
    """Counts of the pairs of a held-out split that have their source, target, or both in the training data.

    Texts count as equal if they differ in case, Unicode form (NFKC) and white space only.
    """

    split: str
    pairs: int  # of the held-out split
    source: int
    target: int
    pair: int


class WorstBatch(NamedTuple):
    """The largest figures of any batch under a budget; memory grows with them."""

    max_tokens: int  # the budget
    padded_tokens: int  # rows * longest, of the larger side
    attention_cells: int  # rows * longest * longest, for one head of one layer
    over_budget: int  # pairs that alone exceed the budget


class DataStats(NamedTuple):
    """All splits of a data set."""

    splits: list[SplitStats]
    overlaps: list[Overlap]
    worst_batch: WorstBatch | None  # of the training split; None without a tokeniser


def data_stats(surveys: Mapping[str, SplitSurvey], max_tokens: int) -> DataStats:
    """Compute the statistics of the splits that `heedful.data.survey.survey` has read; the training split is called
    "train".
    """
    train = surveys.get("train")
    held_out = [found for split, found in surveys.items() if split != "train"]
    overlaps = [] if train is None else [overlap(train, found) for found in held_out]
    worst = None if train is None else worst_batch(train, max_tokens)
    return DataStats([split_stats(found) for found in surveys.values()], overlaps, worst)


def split_stats(found: SplitSurvey) -> SplitStats:
    """Compute the statistics of one split."""
    source, target = _side_stats(found.source), _side_stats(found.target)
    return SplitStats(found.split, found.pairs, duplicates(found.hashes), found.same, source, target)


def overlap(train: SplitSurvey, held_out: SplitSurvey) -> Overlap:
    """Count the pairs of a held-out split that the training data have, too."""
    sides = ((held_out.source, train.source), (held_out.target, train.target), (held_out, train))
    counts = (len(found_in(mine.hashes, theirs.hashes)) for mine, theirs in sides)
    return Overlap(held_out.split, held_out.pairs, *counts)


def worst_batch(train: SplitSurvey, max_tokens: int) -> WorstBatch | None:
    """Return the largest batch of training, as the plan of batches makes it; None without a tokeniser."""
    if train.source.tokens is None or train.target.tokens is None:
        return None
    source, target = train.source.tokens.astype(np.int32), train.target.tokens.astype(np.int32)
    longest = np.maximum(source, target) + 1
    shapes = [
        (len(batch), int(longest[batch].max())) for batch in BatchPlan(source, target, max_tokens, seed=0).epoch(0)
    ]
    tokens = max(rows * length for rows, length in shapes)
    cells = max(rows * length * length for rows, length in shapes)
    return WorstBatch(max_tokens, tokens, cells, int((longest > max_tokens).sum()))


def _side_stats(side: SideSurvey) -> SideStats:
    tokens = side.tokens
    return SideStats(
        words=int(side.words.sum()),
        empty=int((side.words == 0).sum()),
        distinct=len(side.hashes) - duplicates(side.hashes),
        alphabet=len(side.alphabet),
        word_percentiles=percentiles(side.words),
        character_percentiles=percentiles(side.characters),
        token_percentiles=None if tokens is None else percentiles(tokens),
        unknown_rate=None if tokens is None else side.unknown / max(1, int(tokens.sum())),
    )


def percentiles(lengths: Numbers, of: Sequence[int] = PERCENTILES) -> dict[int, int]:
    """Compute the lengths that so many per cent of the lines do not exceed; each is the length of some line."""
    values = np.percentile(lengths, of, method="inverted_cdf")
    return {percent: int(value) for percent, value in zip(of, values, strict=True)}
