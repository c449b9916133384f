"""Alignment of two sides: position by position, in the same order, or in any order; and so which losses may be used.

Knows no model. T and U are the lengths of a source and of its target, in tokens, words or characters.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Literal, NamedTuple

import numpy as np

from heedful.data.corpus import Pair
from heedful.data.hmm_aligner import Ids, align_pairs
from heedful.errors import ConfigError, HeedfulError
from heedful.text.tokenizer import Tokenizers
from heedful.text.vocabulary import SPECIALS

SAMPLE = 2000  # pairs that are aligned; lengths are those of all pairs
LONGEST = 100  # units of a pair that is aligned: time grows with the square
LABELS = 5  # times that single words must return, on average, to be labels and not spellings
SYNCHRONOUS = 0.99  # share of pairs of equal length
PLACED = 0.9  # share of target units that come from their own position
IN_ORDER = 0.95  # share of pairs without a step back: CTC has no path for the others

Cell = Literal["label", "tagging", "ctc", "seq2seq"]
CELLS: dict[Cell, str] = {
    "label": "one label for the whole source",
    "tagging": "synchronous and aligned: a label for each position",
    "ctc": "asynchronous, in the same order, not one to one",
    "seq2seq": "asynchronous, and the order may differ",
}
EMPTY_CELL = (
    "The fourth cell, synchronous but not aligned, is empty for a reason: "
    "if output t comes with input t, then that is the alignment."
)


class Lengths(NamedTuple):
    """Statistics of the lengths of all pairs."""

    pairs: int
    equal: float  # share of pairs with T = U
    impossible: int  # pairs with T < U + repeats, of which no frame-wise path leads to the target
    upsampling: int | None  # the least whole factor f with f T >= U + repeats in every pair; None if a source is empty


class Order(NamedTuple):
    """Statistics of the links of a sample; shares are of target units."""

    pairs: int
    own_position: float  # that come from the source unit of the same number
    in_order: float  # that come from where the one before came from, or from after it
    one_to_one: float  # whose source unit gives no other
    whole: float  # share of pairs without a step back


class Taxonomy(NamedTuple):
    """A data set's cell, and why."""

    lengths: Lengths
    order: Order
    cell: Cell
    losses: list[str]  # that may be used, the one of the cell first
    remark: str


class UnitCounts(NamedTuple):
    """Names of the units that are counted on each side."""

    source: str
    target: str


def in_units(pairs: Iterable[Pair], tokenizers: Tokenizers | None) -> tuple[UnitCounts, Iterator[tuple[Ids, Ids]]]:
    """Convert texts to ids. Without tokenisers a side's units are its words if most of its first lines have several."""
    stream = iter(pairs)
    first = list(islice(stream, 1000))
    stream = chain(first, stream)
    if tokenizers is not None:
        x, y = tokenizers.source, tokenizers.target
        encoded = ((_ids(x.encode(pair.source)), _ids(y.encode(pair.target))) for pair in stream)
        return UnitCounts("tokens", "tokens"), encoded
    if first and all(pair.source.endswith(".wav") for pair in first):
        hint = "Speech comes in the order of its words, and CTC is made for it: heedful init --recipe fsdd-ctc."
        raise ConfigError("Sources are names of recordings, which are not looked into.", hint=hint)
    units = UnitCounts(_unit([pair.source for pair in first]), _unit([pair.target for pair in first]))
    source, target = _Numbers(units.source), _Numbers(units.target)
    return units, ((source.ids(pair.source), target.ids(pair.target)) for pair in stream)


class _Numbers:
    """Numbers for the units of one side, in the order in which they are met."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._known: dict[str, int] = {}

    def ids(self, text: str) -> Ids:
        units = text.split() if self._unit == "words" else text
        return _ids([self._known.setdefault(unit, len(SPECIALS) + len(self._known)) for unit in units])


def _unit(lines: Sequence[str]) -> str:
    several = sum(len(line.split()) > 1 for line in lines)
    labels = not several and len(set(lines)) <= len(lines) // LABELS
    return "words" if labels or 2 * several > len(lines) else "characters"


def _ids(ids: Sequence[int]) -> Ids:
    return np.array(ids, np.int32)


def taxonomy(pairs: Iterable[tuple[Ids, Ids]]) -> Taxonomy:
    """Measure the pairs and name their cell. Raises HeedfulError where no pair can be aligned.

    CTC needs T >= U + repeats, as a blank must stand between equal labels. [Graves 2006, 4.1]
    """
    lengths, sample = _measure(pairs)
    if not sample:
        hint = f"A pair can be aligned if neither side is empty or longer than {LONGEST}."
        raise HeedfulError("No pair can be aligned.", hint=hint)
    order = _order(sample)
    synchronous = lengths.equal >= SYNCHRONOUS
    if not synchronous and all(len(target) == 1 for _, target in sample):
        return Taxonomy(
            lengths, order, "label", ["cross-entropy of the label"], "Every target is one unit: a classifier."
        )
    if synchronous and order.own_position >= PLACED:
        return Taxonomy(
            lengths, order, "tagging", ["cross-entropy of each position", *_ctc(lengths), SEQ2SEQ], EMPTY_CELL
        )
    if order.whole >= IN_ORDER:
        return Taxonomy(
            lengths,
            order,
            "ctc",
            [*_ctc(lengths), SEQ2SEQ],
            "Outputs come in the order of inputs, in nearly all pairs.",
        )
    remark = "Outputs come from positions before those already read."
    if synchronous:
        remark = f"Sides are equally long, but output t does not come from input t. {EMPTY_CELL}"
    return Taxonomy(lengths, order, "seq2seq", [SEQ2SEQ], remark)


SEQ2SEQ = "cross-entropy of the next word, with a decoder"


def _ctc(lengths: Lengths) -> list[str]:
    if lengths.upsampling is None:
        return []
    return ["CTC" if lengths.upsampling == 1 else f"CTC, with {lengths.upsampling} frames for each source unit"]


def _measure(pairs: Iterable[tuple[Ids, Ids]]) -> tuple[Lengths, list[tuple[Ids, Ids]]]:
    """Collect the lengths of all pairs, and about SAMPLE pairs at equal distances, however many will come."""
    count = equal = 0
    factors: Counter[int | None] = Counter()
    kept: list[tuple[Ids, Ids]] = []
    step = 1
    for source, target in pairs:
        equal += len(source) == len(target)
        factors[frames_needed(source, target)] += 1
        if count % step == 0:
            kept.append((source, target))
        if len(kept) > 2 * SAMPLE:
            kept, step = kept[::2], 2 * step
        count += 1
    if not count:
        raise HeedfulError("There are no pairs.", hint="Name a data set or files with at least one pair.")
    largest = None if None in factors else max(factor for factor in factors if factor is not None)
    impossible = sum(number for factor, number in factors.items() if factor is None or factor > 1)
    fit = [(x, y) for x, y in kept if 0 < len(x) <= LONGEST and 0 < len(y) <= LONGEST]
    return Lengths(count, equal / count, impossible, largest), fit


def frames_needed(source: Ids, target: Ids) -> int | None:
    """Return how many frames a source unit must have for CTC: ceil((U + repeats) / T), at least 1; None if nothing
    helps.
    """
    needed = len(target) + int((target[1:] == target[:-1]).sum())
    if not len(source):
        return 1 if not needed else None
    return max(1, -(-needed // len(source)))


def _order(sample: list[tuple[Ids, Ids]]) -> Order:
    """Compute statistics of the links that the sample's own alignment model finds."""
    links = align_pairs(sample)
    total = sum(map(len, links))
    own = sum(int((link == np.arange(len(link))).sum()) for link in links)
    back = [int((np.diff(link) < 0).sum()) for link in links]
    single = sum(int((np.bincount(link) == 1).sum()) for link in links)
    whole = sum(steps == 0 for steps in back) / len(links)
    return Order(len(links), own / total, 1 - sum(back) / total, single / total, whole)
