"""Exponents of growth: the slope of a straight line through points on two logarithmic axes. Knows no task."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Fit(NamedTuple):
    """y = factor * x ** exponent; `r2` is the share of log y's variance that it explains."""

    exponent: float
    factor: float
    r2: float


def fit_exponent(xs: Sequence[float], ys: Sequence[float]) -> Fit:
    """Least squares on logarithms. All numbers must be positive, and at least two xs differ."""
    if len(xs) != len(ys) or len(set(xs)) < 2:
        raise ValueError(f"An exponent needs two different `xs` and as many `ys`, but got {len(xs)} and {len(ys)}.")
    if min(*xs, *ys) <= 0:
        raise ValueError("Logarithms need positive numbers.")
    u, v = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mean_u, mean_v = sum(u) / len(u), sum(v) / len(v)
    slope = sum((a - mean_u) * (b - mean_v) for a, b in zip(u, v, strict=True)) / sum((a - mean_u) ** 2 for a in u)
    offset = mean_v - slope * mean_u
    left = sum((b - offset - slope * a) ** 2 for a, b in zip(u, v, strict=True))
    total = sum((b - mean_v) ** 2 for b in v)
    return Fit(slope, math.exp(offset), 1 - left / total if total > 0 else 1.0)
