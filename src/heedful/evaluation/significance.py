"""How far a score can be trusted: bootstrap intervals and paired tests, on the statistics of items.

Knows metrics only as functions of summed statistics. A matrix of statistics is [n items, k statistics]; two paired
matrices hold the same items in the same order.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heedful.evaluation.metric import Metric

Matrix = NDArray[np.float64]

CHUNK = 1 << 22  # numbers held at once while resampling: 32 MiB
TAILS = (2.5, 97.5)  # percentiles: the middle 95 %
ROUNDING = 1e-9  # per cent; differences closer than this are equal


class Comparison(NamedTuple):
    """B minus A, its 95 % interval, and the probability `p` of so large a difference if A and B were equally good."""

    delta: float
    low: float
    high: float
    p: float


def bootstrap_interval(metric: Metric, statistics: Matrix, samples: int, seed: int) -> tuple[float, float]:
    """Compute the 95 % percentile interval over `samples` resamples of the items with replacement [Koehn 2004]."""
    _check(statistics, samples)
    values = np.concatenate(
        [_values(metric, counts @ statistics) for counts in _resamples(len(statistics), samples, seed)]
    )
    low, high = np.percentile(values, TAILS)
    return float(low), float(high)


def paired_bootstrap(metric: Metric, stats_a: Matrix, stats_b: Matrix, samples: int, seed: int) -> Comparison:
    """Compare B with A, by B minus A over resamples of the same items for both.

    `p` is two-sided: how often a resampled difference, moved to mean 0, is as large as the observed one.
    """
    _check(stats_a, samples)
    _check_paired(stats_a, stats_b)
    deltas = np.concatenate(
        [
            _values(metric, counts @ stats_b) - _values(metric, counts @ stats_a)
            for counts in _resamples(len(stats_a), samples, seed)
        ]
    )
    delta = _delta(metric, stats_a, stats_b)
    low, high = np.percentile(deltas, TAILS)
    return Comparison(delta, float(low), float(high), _p_value(deltas - deltas.mean(), delta))


def paired_randomisation(metric: Metric, stats_a: Matrix, stats_b: Matrix, samples: int, seed: int) -> float:
    """Compute the two-sided p of approximate randomisation: the outputs of each item are swapped at random [Riezler
    2005].

    The better test for a yes or no (exact under the null hypothesis); it gives no interval.
    """
    _check(stats_a, samples)
    _check_paired(stats_a, stats_b)
    generator = np.random.default_rng(seed)
    moved = stats_b - stats_a
    sum_a, sum_b = stats_a.sum(axis=0), stats_b.sum(axis=0)

    def deltas(swapped: NDArray[np.bool_]) -> NDArray[np.float64]:
        shift = swapped.astype(np.float64) @ moved
        return _values(metric, sum_b - shift) - _values(metric, sum_a + shift)

    shuffled = _in_chunks(len(moved), samples, lambda rows: deltas(generator.random((rows, len(moved))) < 0.5))
    return _p_value(np.concatenate(list(shuffled)), _delta(metric, stats_a, stats_b))


def _resamples(n: int, samples: int, seed: int) -> Iterator[Matrix]:
    """Count how often each of n items is drawn in n draws with replacement: rows of counts, in chunks."""
    generator = np.random.default_rng(seed)

    def counts(rows: int) -> Matrix:
        drawn = generator.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)

    return _in_chunks(n, samples, counts)


def _in_chunks(n: int, samples: int, make: Callable[[int], Matrix]) -> Iterator[Matrix]:
    rows = max(1, CHUNK // n)
    for start in range(0, samples, rows):
        yield make(min(rows, samples - start))


def _values(metric: Metric, sums: Matrix) -> NDArray[np.float64]:
    return np.array([metric.value(row) for row in sums.tolist()])


def _delta(metric: Metric, stats_a: Matrix, stats_b: Matrix) -> float:
    first, second = _values(metric, np.stack([stats_a.sum(axis=0), stats_b.sum(axis=0)]))
    return float(second - first)


def _p_value(null: Sequence[float] | NDArray[np.float64], delta: float) -> float:
    """Return the share of null differences at least as large; the observed one counts among them,
    so that p is never 0.
    """
    reached = int(np.sum(np.abs(null) >= abs(delta) - ROUNDING))
    return (reached + 1) / (len(null) + 1)


def _check(statistics: Matrix, samples: int) -> None:
    if len(statistics) == 0:
        raise ValueError("`statistics` must have a row for each item, but has none.")
    if samples < 1:
        raise ValueError(f"`samples` must be at least 1, but is {samples}.")


def _check_paired(stats_a: Matrix, stats_b: Matrix) -> None:
    if stats_a.shape != stats_b.shape:
        raise ValueError(f"`stats_b` must have the shape of `stats_a` {stats_a.shape}, but has {stats_b.shape}.")
