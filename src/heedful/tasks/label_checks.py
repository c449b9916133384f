"""Checks of labels before work: one for each position, sources that can be read, labels that training knows.

Knows no training and no command line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heedful.data.store import PairStore
from heedful.decoding.label_backend import PARTS_HINT
from heedful.errors import ConfigError, counted
from heedful.events import Report, warn
from heedful.models.interface import EncoderOnly
from heedful.text.vocabulary import UNK

Lengths = NDArray[np.integer]
Ids = Sequence[int] | NDArray[np.int32]


def check_sources(split: str, model: EncoderOnly, sources: Iterable[tuple[int, Sequence[int]]]) -> None:
    """Check that the model can read these sources (ids, numbered from 0). Raises ConfigError for the first that it
    cannot.
    """
    for number, source in sources:
        if (validation_error := model.validation_error(source)) is not None:
            raise ConfigError(f"{split}:{number + 1}: {validation_error}.", hint=PARTS_HINT)


def check_label_counts(split: str, positions: Lengths, labels: Lengths, origin: Callable[[int], int]) -> None:
    """Check that each pair has one label a position; `origin` numbers the pairs of the split, from 0. Raises
    ConfigError.
    """
    wrong = np.flatnonzero(positions != labels)
    if not len(wrong):
        return
    first = int(wrong[0])
    what = f"{counted(len(wrong), f'{split} pair')} {'does' if len(wrong) == 1 else 'do'} not have one label a position"
    found = f"{counted(int(positions[first]), 'position')}, {counted(int(labels[first]), 'label')}"
    raise ConfigError(
        f"{what}; the first is pair {origin(first) + 1}: {found}.",
        hint="Labels are words between blanks: one in all for a classifier, for a tagger one a token of the source; "
        "tokenizer.source.kind says what is one.",
    )


class UnknownLabels(NamedTuple):
    """Count of the items with a label that the vocabulary lacks, the number of the first, from 1, and whether any label
    is known.
    """

    count: int
    first: int | None
    any_known: bool


def unknown_labels(items: Iterable[tuple[int, Sequence[Ids]]]) -> UnknownLabels:
    """Count the items with unknown labels; each item has its number from 0 and its references, and counts where each of
    them has such a label.
    """
    found: list[int] = []
    any_known = False
    for number, targets in items:
        if all(UNK in target for target in targets):
            found.append(number)
        any_known = any_known or any(index != UNK for target in targets for index in target)
    return UnknownLabels(len(found), found[0] + 1 if found else None, any_known)


def stored_targets(store: PairStore) -> Iterator[tuple[int, Sequence[Ids]]]:
    """Yield the targets of a store, as `unknown_labels` takes them."""
    return ((store.origin(index), [store.arrays(index)[1]]) for index in range(len(store)))


def report_unknown(split: str, unknown: UnknownLabels, pairs: int, report: Report) -> None:
    """Report which labels of a split no model that is trained on these pairs can predict; ConfigError where that is
    all.
    """
    if unknown.first is None:
        return
    if not unknown.any_known:
        hint = "Are these the labels of the same task?"
        raise ConfigError(f"{split}: training has none of the labels of its {counted(pairs, 'pair')}.", hint=hint)
    text = f"{split}:{unknown.first}: the first of {counted(unknown.count, 'pair')}, among {pairs:,}"
    hint = "It is never given and counts as wrong. Is it misspelt?"
    warn(report, f"{text}, with a label that no training pair has.", hint)
