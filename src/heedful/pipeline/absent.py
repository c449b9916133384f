"""Answers that cannot be given: words that do not stand in a reader's story, labels that training never shows.

Knows no model.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heedful.data.store import PairStore
from heedful.text.vocabulary import EOS, UNK

Ids = Sequence[int] | NDArray[np.int32]


class Absent(NamedTuple):
    """How many answers of a store no story holds, and the number of the first such pair in the corpus, from 1."""

    count: int
    first: int | None


def absent_answers(store: PairStore) -> Absent:
    """Pairs whose target has a word that is unknown, or is not in the source before its last part, the question."""
    found: list[int] = []
    for index in range(len(store)):
        source, target = store.arrays(index)
        ends = np.flatnonzero(source == EOS)
        story = source[: ends[-1]] if len(ends) else source[:0]
        if not np.isin(target, story[story != UNK]).all():
            found.append(index)
    return Absent(len(found), store.origin(found[0]) + 1 if found else None)


class Unknown(NamedTuple):
    """How many items have a label that the vocabulary lacks, the number of the first, from 1, and whether any label is
    known.
    """

    count: int
    first: int | None
    any_known: bool


def unknown_labels(items: Iterable[tuple[int, Sequence[Ids]]]) -> Unknown:
    """Of items, each with its number from 0 and its right targets: one counts where each target has such a label."""
    found: list[int] = []
    any_known = False
    for number, targets in items:
        if all(UNK in target for target in targets):
            found.append(number)
        any_known = any_known or any(index != UNK for target in targets for index in target)
    return Unknown(len(found), found[0] + 1 if found else None, any_known)


def stored_targets(store: PairStore) -> Iterator[tuple[int, Sequence[Ids]]]:
    """The targets of a store, as `unknown_labels` takes them."""
    return ((store.origin(index), [store.arrays(index)[1]]) for index in range(len(store)))
