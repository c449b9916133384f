"""Answers that a reader cannot give: words that do not stand in their story. Knows no model."""

from typing import NamedTuple

import numpy as np

from heedful.data.store import PairStore
from heedful.text.vocabulary import EOS, UNK


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
