"""Answers that do not stand in a story. Knows no model."""

from typing import NamedTuple

import numpy as np

from heedful.data.store import PairStore
from heedful.errors import ConfigError
from heedful.events import Report, warn
from heedful.text.vocabulary import EOS, UNK


class Unanswerable(NamedTuple):
    """Count of the answers of a store that no story holds, and the number of the first such pair in
    the corpus, from 1.
    """

    count: int
    first: int | None


def absent_answers(store: PairStore) -> Unanswerable:
    """Find the pairs whose target has a word that is unknown, or not in the story: the source before its question."""
    found: list[int] = []
    for index in range(len(store)):
        source, target = store.arrays(index)
        ends = np.flatnonzero(source == EOS)
        story = source[: ends[-1]] if len(ends) else source[:0]
        if not np.isin(target, story[story != UNK]).all():
            found.append(index)
    return Unanswerable(len(found), store.origin(found[0]) + 1 if found else None)


def report_absent(split: str, store: PairStore, report: Report) -> None:
    """Report which answers no story holds. Raises ConfigError where that is all of them."""
    absent = absent_answers(store)
    if absent.count == len(store):
        hint = 'A reader answers with a word of the story; `kind = "memory"` answers with any word.'
        raise ConfigError(f"{split}: no story holds its answer, in any of {len(store):,} pairs.", hint=hint)
    if absent.first is not None:
        text = f"{split}:{absent.first}: the first of {absent.count:,} answers, among {len(store):,}"
        warn(
            report,
            f"{text}, that no story holds.",
            'They teach nothing and are never given; `kind = "memory"` answers with any word.',
        )
