"""Answers that cannot be given: words that do not stand in a reader's story, labels that training never shows.

Knows no model.
"""

from typing import NamedTuple

import numpy as np

from heedful.data.store import PairStore
from heedful.text.vocabulary import EOS, UNK


class Absent(NamedTuple):
    """How many pairs of a store have such an answer, and the number of the first one in the corpus, from 1."""

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
    return _absent(store, found)


def unknown_labels(store: PairStore) -> Absent:
    """Pairs whose target has a word that the vocabulary, made of the training pairs, lacks."""
    return _absent(store, [index for index in range(len(store)) if (store.arrays(index)[1] == UNK).any()])


def _absent(store: PairStore, found: list[int]) -> Absent:
    return Absent(len(found), store.origin(found[0]) + 1 if found else None)
