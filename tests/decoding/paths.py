"""CTC by writing down every path: what the quick algorithms must agree with."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import product

BLANK = 0


def collapsed(path: Sequence[int]) -> tuple[int, ...]:
    """B of [Graves 2006, 3.1]: no repeats, then no blanks."""
    alone = [index for place, index in enumerate(path) if place == 0 or index != path[place - 1]]
    return tuple(index for index in alone if index != BLANK)


def outputs(p: Sequence[Sequence[float]]) -> dict[tuple[int, ...], float]:
    """The probability of every output, from probabilities [T V], over all V^T paths."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for path in product(range(len(p[0])), repeat=len(p)):
        found[collapsed(path)] += math.prod(row[index] for row, index in zip(p, path, strict=True))
    return dict(found)


def forward(p: Sequence[Sequence[float]], label: Sequence[int]) -> float:
    """p(label | x) by the recursion over the label with blanks around each symbol [Graves 2006, 4.1, Eq. 5 to 8]."""
    extended = [BLANK]
    for index in label:
        extended += [index, BLANK]
    alpha = [p[0][index] if place < 2 else 0.0 for place, index in enumerate(extended)]
    for row in p[1:]:
        before, alpha = alpha, []
        for place, index in enumerate(extended):
            total = before[place] + (before[place - 1] if place else 0.0)
            if place > 1 and index not in (BLANK, extended[place - 2]):
                total += before[place - 2]
            alpha.append(total * row[index])
    return sum(alpha[-2:])
