"""Whether one arm is better than another: an exact permutation test of their seeds, adjusted for how many are made."""

import math
import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

SEEDS = 5  # an arm; with fewer the test can hardly be below LEVEL, and no verdict is given
LEVEL = 0.05  # of the false discovery rate
CEILING = 1.0  # points from perfect: two arms within it leave nothing to tell them by
TOLERANCE = 1e-9  # differences of means that are equal but for rounding

YES, NO, OPEN = "yes", "no", "not resolved"
BOTH_PERFECT = "no verdict: both are at the ceiling"


class Rule(NamedTuple):
    """What a difference must be to count, in points of the metric."""

    higher_is_better: bool
    minimum: float = 0.0  # points
    not_worse: bool = False  # asks whether the first is worse by less than `minimum`, not whether it is better


class Comparison(NamedTuple):
    """Two arms of a system, and what came of them."""

    of: str
    asked: str  # "better than", or how much worse it may be than
    against: str
    gain: float  # of the first over the second, in points; positive is better
    p: float | None  # two-sided; None where no test is made
    adjusted: float | None
    verdict: str


def permutation_p(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the two-sided p of an exact permutation test: the share of all ways to deal the values out to two arms of
    these sizes whose means differ as much as those of the arms do, or more.
    """
    values = [*one, *other]
    total, size, rest = math.fsum(values), len(one), len(other)
    seen = abs(statistics.fmean(one) - statistics.fmean(other))
    ways = [math.fsum(chosen) for chosen in combinations(values, size)]
    as_large = sum(abs(part / size - (total - part) / rest) >= seen - TOLERANCE for part in ways)
    return as_large / len(ways)


def adjusted_for_many(ps: Sequence[float]) -> list[float]:
    """Return the p values adjusted by Benjamini and Hochberg (1995): of all comparisons whose value is at most LEVEL,
    at most this share is expected to be chance.
    """
    order = sorted(range(len(ps)), key=lambda i: ps[i], reverse=True)
    found, least = [0.0] * len(ps), 1.0
    for above, i in enumerate(order):
        least = min(least, ps[i] * len(ps) / (len(ps) - above))
        found[i] = least
    return found


def compared(names: tuple[str, str], values: tuple[Sequence[float], Sequence[float]], rule: Rule) -> Comparison:
    """Return a comparison of two arms with its p; the verdict is left open where it hangs on other comparisons, too."""
    one, other = values
    sign = 1 if rule.higher_is_better else -1
    gain = sign * (statistics.fmean(one) - statistics.fmean(other))
    asked = f"less than {rule.minimum:g} points worse than" if rule.not_worse else "better than"
    result = Comparison(names[0], asked, names[1], gain, None, None, OPEN)
    perfect = 100.0 if rule.higher_is_better else 0.0
    if all(abs(statistics.fmean(arm) - perfect) <= CEILING for arm in values):
        return result._replace(verdict=BOTH_PERFECT)
    if (fewest := min(len(one), len(other))) < SEEDS:
        return result._replace(verdict=f"no verdict: {fewest} of {SEEDS} seeds")
    shift = sign * rule.minimum if rule.not_worse else 0.0  # is it worse by less than that?
    return result._replace(p=permutation_p([value + shift for value in one], other))


def judged(comparisons: Sequence[Comparison], rules: Sequence[Rule]) -> list[Comparison]:
    """Return the comparisons with adjusted p and verdict: `yes` or `no` at LEVEL and by `minimum` or more."""
    tested = [number for number, one in enumerate(comparisons) if one.p is not None]
    adjusted = adjusted_for_many([p for one in comparisons if (p := one.p) is not None])
    found = list(comparisons)
    for number, value in zip(tested, adjusted, strict=True):
        one = comparisons[number]
        found[number] = one._replace(adjusted=value, verdict=_verdict(one.gain, value, rules[number]))
    return found


def _verdict(gain: float, adjusted: float, rule: Rule) -> str:
    if adjusted > LEVEL:
        return OPEN
    if rule.not_worse:
        return YES if gain > -rule.minimum else NO
    if abs(gain) < rule.minimum:
        return OPEN
    return YES if gain > 0 else NO


def how_judged(comparisons: Sequence[Comparison]) -> str:
    """Return what a reader must know of the verdicts: the test, its error rate, and for how many comparisons."""
    tested = sum(one.p is not None for one in comparisons)
    ways = math.comb(2 * SEEDS, SEEDS)
    smallest = 2 / ways
    return (
        f"p: exact permutation test of the means of {SEEDS} seeds an arm, two-sided, over all {ways} ways to deal "
        f"{2 * SEEDS} values out; the smallest possible p is {smallest:.4f}. Each test alone errs in at most "
        f"{LEVEL:.0%} of the cases in which two arms do not differ: for {tested} comparisons that would be up to "
        f"{tested * LEVEL:.1f} false verdicts. So p is adjusted for {tested} comparisons (Benjamini and Hochberg): of "
        f'all verdicts "{YES}" and "{NO}", at most {LEVEL:.0%} are expected to be chance. The stricter promise that '
        f"not even one is (Holm) is out of reach of {SEEDS} seeds: it asks for a p below {LEVEL / max(tested, 1):.4f}. "
        "A verdict also needs the least difference that counts, which the plan states for each system. Two arms within "
        f"{CEILING:g} point of perfect get none. Seeds vary the initial weights, the order of the batches and "
        "dropout, not the test items: a verdict is one on this test set."
    )
