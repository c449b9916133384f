"""From scores to weights. The only place that may softmax scores, and the only place that applies masks.

Knows no query, key or value. A row with nothing to attend gets zero weights and zero gradient.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from heedful.attention.masks import Mask


class Normaliser(ABC):
    """A map from scores [B H T S] and a mask to weights of the same shape."""

    axis: ClassVar[int]
    """The axis along which weights compete."""
    sums_to_one: ClassVar[bool]
    """Whether the weights of a row with something to attend sum to 1."""

    @abstractmethod
    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        """The weights; exactly 0 where the mask is False."""


@final
class Softmax(Normaliser):
    """exp(s) / sum exp(s) over the keys that may be seen. [Vaswani 2017, 3.2.1, Eq. 1]

    Computed in float32 whatever the dtype of the scores; masked keys never take part, however negative the others are.
    """

    axis = -1
    sums_to_one = True

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        exact = scores.dtype if scores.dtype.itemsize >= 4 else torch.float32
        if mask is None:
            return scores.softmax(dim=-1, dtype=exact).to(scores.dtype)
        weights: Tensor = _MaskedSoftmax.apply(scores, mask.visible, exact)  # pyright: ignore[reportAssignmentType]
        return weights


softmax = Softmax()


class _MaskedSoftmax(torch.autograd.Function):
    """The softmax of the visible scores; its gradient needs no mask, being zero wherever the weight is."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, visible: Tensor, exact: torch.dtype) -> Tensor:
        hidden = torch.where(visible, scores.to(exact), float("-inf"))
        weights = hidden.softmax(dim=-1)
        empty = ~visible.any(dim=-1, keepdim=True)  # [B|1 H|1 T|1 1]: their softmax is 0 / 0
        if empty.any():
            weights.masked_fill_(empty, 0.0)
        weights = weights.to(scores.dtype)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (weights,) = ctx.saved_tensors
        inner = (grads[0] * weights).sum(dim=-1, keepdim=True, dtype=torch.promote_types(weights.dtype, torch.float32))
        return (grads[0] - inner).to(weights.dtype) * weights, None, None
