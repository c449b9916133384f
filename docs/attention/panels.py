"""A table of weights as a picture."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.attention import Mask, attend
from heedful.inspection.labels import Axes
from heedful.inspection.svg import weights_svg

SEED = 1
WEIGHT = "attention weight"


class Axis(NamedTuple):
    """The labels of one side of a table, and what they are of."""

    labels: Sequence[str]
    title: str


def table(
    weights: Tensor, rows: Axis, columns: Axis, title: str, visible: Tensor | None = None, unit: str = WEIGHT
) -> str:
    """Weights [T S] as a picture; where `visible` is False a cell is hatched. `unit` names what the colours show."""
    shown = torch.ones(weights.shape, dtype=torch.bool) if visible is None else visible
    labels = Axes(list(rows.labels), list(columns.labels), rows.title, columns.title)
    return weights_svg(weights.detach().float().numpy(), shown.numpy(), labels, title, unit) + "\n"


def numbers(count: int, start: int = 1) -> list[str]:
    """Labels of places."""
    return [str(place) for place in range(start, start + count)]


def weights_of(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score: Callable[..., Tensor],
    mask: Mask | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """What each query of the first head reads, [T S]."""
    weights = attend(query, key, value, score=score, mask=mask, bias=bias).weights
    assert weights is not None
    return weights[0, 0]
