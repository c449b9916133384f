"""A probabilistic dictionary learned from pairs of ids: which target id goes with which source id (IBM Model 1).

Knows ids and counts, no text and no network.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heedful.text.vocabulary import PAD

MOST_PLACES = 100_000_000  # (source token, target token) of one pair; each takes 4 bytes
CHUNK = 1 << 22  # of these that are looked at together
NULL = PAD  # the id of the empty source word, which explains target words that nothing else does
Ids = NDArray[np.int32]


class TranslationTable(NamedTuple):
    """t(target | source) for the pairs of ids that stand in some sentence pair together, by source, then by target."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    probability: NDArray[np.float64]  # sums to 1 for each source id

    def best(self, k: int, source_size: int) -> Ids:
        """Return [source_size k]: the k most probable targets of each source id, best first; -1 where it has fewer.

        Of equally probable targets the lower id comes first.
        """
        order = np.lexsort((self.target, -self.probability, self.source))
        source = self.source[order]
        starts = np.searchsorted(source, source)  # where the group of each entry begins
        rank = np.arange(len(source)) - starts
        kept = rank < k
        table = np.full((source_size, k), -1, np.int32)
        table[source[kept], rank[kept]] = self.target[order][kept]
        return table


def learn_lexicon(pairs: Sequence[tuple[Ids, Ids]], target_size: int, iterations: int = 5) -> TranslationTable:
    """Learn Model 1 by expectation maximisation, from uniform probabilities. [Brown 1993, 4.1]

    Each target token of a pair comes from one source token or from NULL: t(y | x) is proportional to the sum, over the
    pairs, of t(y_j | x_i) / sum_i' t(y_j | x_i'). `pairs` are ids without BOS and EOS, neither side empty. Of a corpus
    with more than MOST_PLACES places, pairs in equal distances are taken.
    """
    chosen = _affordable(pairs)
    keys = np.empty(0, np.int64)
    for chunk in _chunks(chosen):
        keys = np.union1d(keys, _places(chunk, target_size).cells)
    chunks = [_places(chunk, target_size) for chunk in _chunks(chosen)]
    chunks = [places._replace(cells=np.searchsorted(keys, places.cells).astype(np.int32)) for places in chunks]
    sources, targets = np.divmod(keys, target_size)
    probability = np.ones(len(keys))
    for _ in range(iterations):
        counts = np.zeros(len(keys))
        for cells, width in chunks:
            joint = probability[cells]
            evidence = np.add.reduceat(joint, np.cumsum(width) - width)
            counts += np.bincount(cells, joint / np.repeat(evidence, width), minlength=len(keys))
        probability = counts / np.bincount(sources, counts)[sources]
    return TranslationTable(sources, targets, probability)


class _Places(NamedTuple):
    """Every (source token or NULL, target token) of some pairs, target token by target token."""

    cells: NDArray[np.int64] | NDArray[np.int32]  # source id * target_size + target id; later the number of this key
    width: NDArray[np.int64]  # of each target token, how many source tokens it meets


def _places(pairs: Sequence[tuple[Ids, Ids]], target_size: int) -> _Places:
    sources = [np.append(source, NULL).astype(np.int64) for source, _ in pairs]
    heights = [len(target) for _, target in pairs]
    width = np.repeat([len(source) for source in sources], heights)
    met = np.concatenate([np.tile(source, height) for source, height in zip(sources, heights, strict=True)])
    target = np.concatenate([target for _, target in pairs]).astype(np.int64)
    return _Places(met * target_size + np.repeat(target, width), width)


def _affordable(pairs: Sequence[tuple[Ids, Ids]]) -> Sequence[tuple[Ids, Ids]]:
    step = -(-int(_sizes(pairs).sum()) // MOST_PLACES)
    return pairs[:: max(step, 1)]


def _chunks(pairs: Sequence[tuple[Ids, Ids]]) -> Iterator[Sequence[tuple[Ids, Ids]]]:
    number = (np.cumsum(_sizes(pairs)) - 1) // CHUNK
    for start, stop in pairwise([0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(pairs)]):
        yield pairs[start:stop]


def _sizes(pairs: Sequence[tuple[Ids, Ids]]) -> NDArray[np.int64]:
    return np.array([(len(source) + 1) * len(target) for source, target in pairs], np.int64)
