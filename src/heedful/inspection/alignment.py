"""Word alignments read from cross-attention, the Pharaoh format, and how well they agree with a gold alignment.

Knows no tokeniser: `PairUnits` say which pieces make a word. Positions are counted from 0, the source first.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heedful.errors import ConfigError, HeedfulError
from heedful.inspection.labels import Head, matrix
from heedful.trace import Trace

WORD_START = "▁"  # sentencepiece's sign for the blank before a word

Link = tuple[int, int]  # (source unit, target unit)
Cut = Callable[[Sequence[str]], list[range]]  # pieces -> the ranges of them that are units


class AttentionChoice(NamedTuple):
    """Choice of the cross-attention to read: a layer, a head or "mean", and the decoder row that stands for a target
    token.

    shift 0 takes the row that predicts the token, shift 1 the row that consumes it, one step later
    [Chen 2020, "Accurate Word Alignment Induction from Neural Machine Translation"].
    """

    layer: int
    head: Head = "mean"
    shift: int = 0


class PairUnits(NamedTuple):
    """Units of a pair to be aligned: one range of pieces for each unit, "</s>" in none."""

    source: list[range]
    target: list[range]


def units_of(trace: Trace, cut_source: Cut, cut_target: Cut) -> PairUnits:
    """Split both sides into units by `as_words` or `as_pieces`."""
    return PairUnits(cut_source(trace.source[:-1]), cut_target(trace.predicted[:-1]))


def as_words(pieces: Sequence[str]) -> list[range]:
    """Return the ranges of pieces that make up the words; a word begins with the text or at a piece
    that begins with ▁.
    """
    starts = [place for place, piece in enumerate(pieces) if place == 0 or piece.startswith(WORD_START)]
    return [range(start, end) for start, end in pairwise([*starts, len(pieces)])]


def as_pieces(pieces: Sequence[str]) -> list[range]:
    """Return each piece as a unit of its own."""
    return [range(place, place + 1) for place in range(len(pieces))]


def usual_choice(trace: Trace) -> AttentionChoice:
    """Return the mean of the heads of the last layer but one, or in a model of fewer than four layers of the last one.

    The first is the best single rule for 6 layers [Garg 2019]. With 2 layers on the task `lexicon` the last one has an
    AER of 0.02, the one before 0.16; where some gold alignments are at hand, `rank_choices` finds a model's best.
    """
    layers = [shown.layer for shown in trace.maps if shown.kind == "decoder.cross"]
    if not layers:
        hint = "Its decoder reads the source without attention."
        raise ConfigError("This model has no cross-attention to read alignments from.", hint=hint)
    last = max(layers)
    return AttentionChoice(last if last < 3 else last - 1)


def all_choices(trace: Trace) -> list[AttentionChoice]:
    """List every layer, every head and the mean, both shifts."""
    return [
        AttentionChoice(shown.layer, head, shift)
        for shown in trace.maps
        if shown.kind == "decoder.cross"
        for head in [*range(shown.n_heads), "mean"]
        for shift in (0, 1)
    ]


def unit_matrix(trace: Trace, choice: AttentionChoice, units: PairUnits) -> NDArray[np.float32]:
    """Compute the attention between units, [target units, source units]: summed over source pieces, averaged over
    target pieces.

    What "</s>" takes is left out, so a row sums to at most 1.
    """
    weights = matrix(trace.map(f"decoder.{choice.layer}.cross"), choice.head)
    if choice.shift not in (0, 1):
        raise ValueError(f"`shift` must be 0 or 1, but is {choice.shift}.")
    rows = weights[choice.shift : choice.shift + len(trace.predicted) - 1]
    merged = np.zeros((len(units.target), len(units.source)), dtype=np.float32)
    for t, target in enumerate(units.target):
        row = rows[target.start : target.stop].mean(axis=0)
        merged[t] = [row[source.start : source.stop].sum() for source in units.source]
    return merged


def links_of(weights: NDArray[np.float32], threshold: float | None = None) -> list[Link]:
    """List (source, target) links in order of the target: the largest of each row, or all that reach the threshold.

    A row without any weight has no link; the first of equals is taken.
    """
    if weights.size == 0:
        return []
    if threshold is not None:
        return [(int(s), int(t)) for t, s in zip(*(weights >= threshold).nonzero(), strict=True)]
    return [(int(row.argmax()), t) for t, row in enumerate(weights) if row.max() > 0]


def to_pharaoh(links: Iterable[Link]) -> str:
    """Format one line as fast_align and Moses write it: `0-0 1-2`, source-target."""
    return " ".join(f"{source}-{target}" for source, target in links)


class GoldAlignment(NamedTuple):
    """A gold alignment of one pair; `possible` holds the sure links too."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def parse_gold(line: str, first: int = 0) -> GoldAlignment:
    """Read `0-0 1-2 3?3`: a dash is a sure link, ? or p a possible one; `first` is the first position's number.

    Raises HeedfulError for anything else.
    """
    sure, possible = set(), set()
    for word in line.split():
        found = re.fullmatch(r"(\d{1,9})([-?p])(\d{1,9})", word)
        if found is None or min(int(found[1]), int(found[3])) < first:
            raise HeedfulError(
                f"`{word}` is no alignment link counted from {first}.",
                hint="A line looks like `0-0 1-2 3?3`: source-target, ? where the link is only possible.",
            )
        link = (int(found[1]) - first, int(found[3]) - first)
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return GoldAlignment(frozenset(sure), frozenset(possible))


class Agreement(NamedTuple):
    """Counts over a corpus from which AER, precision and recall follow; `add` one pair after the other."""

    links: int = 0
    sure: int = 0
    in_sure: int = 0
    in_possible: int = 0

    def add(self, links: Iterable[Link], gold: GoldAlignment) -> "Agreement":
        """Add the counts of one more pair."""
        found = frozenset(links)
        return Agreement(
            self.links + len(found),
            self.sure + len(gold.sure),
            self.in_sure + len(found & gold.sure),
            self.in_possible + len(found & gold.possible),
        )

    @property
    def aer(self) -> float:
        """1 - (|A in S| + |A in P|) / (|A| + |S|) [Och and Ney 2003]; 0 is perfect, as is nothing against nothing."""
        size = self.links + self.sure
        return 1 - (self.in_sure + self.in_possible) / size if size else 0.0

    @property
    def precision(self) -> float:
        """The share of the links that are possible; 1 where there is no link."""
        return self.in_possible / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """The share of the sure links that were found; 1 where none is sure."""
        return self.in_sure / self.sure if self.sure else 1.0


class RankedChoice(NamedTuple):
    """Agreement of one way of reading the attention with the gold alignment."""

    choice: AttentionChoice
    agreement: Agreement


def rank_choices(examples: Iterable[tuple[Trace, PairUnits, GoldAlignment]]) -> list[RankedChoice]:
    """Score every layer, head and shift on pairs whose alignment is known; the lowest AER first.

    Raises ValueError where there is no example.
    """
    counts: dict[AttentionChoice, Agreement] = {}
    for trace, units, gold in examples:
        for choice in all_choices(trace):
            links = links_of(unit_matrix(trace, choice, units))
            counts[choice] = counts.get(choice, Agreement()).add(links, gold)
    if not counts:
        raise ValueError("`examples` must hold at least one pair with cross-attention, but holds none.")
    order = sorted(counts.items(), key=lambda item: (item[1].aer, item[0].layer, str(item[0].head), item[0].shift))
    return [RankedChoice(choice, agreement) for choice, agreement in order]
