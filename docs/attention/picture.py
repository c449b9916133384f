"""A table of weights as a picture."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from heedful.attention import Mask, attend
from heedful.inspection.labels import Axes
from heedful.inspection.svg import weights_svg

SEED = 1


def table(
    weights: Tensor, rows: Sequence[str], columns: Sequence[str], title: str, visible: Tensor | None = None
) -> str:
    """Weights [T S] as a picture; where `visible` is False a cell is hatched."""
    shown = torch.ones(weights.shape, dtype=torch.bool) if visible is None else visible
    labels = Axes(list(rows), list(columns))
    return weights_svg(weights.detach().float().numpy(), shown.numpy(), labels, title) + "\n"


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
