"""From scores to weights. The only place that may softmax scores, and the only place that applies masks.

Knows no query, key or value. A row with nothing to attend gets zero weights and zero gradient.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from heedful.attention.masks import Mask


class Normaliser(ABC):
    """A map from scores [B H T S] and a mask to weights of the same shape."""

    axis: ClassVar[int]
    """The axis along which weights compete."""

    @abstractmethod
    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        """Return the weights; exactly 0 where the mask is False."""


@final
class Softmax(Normaliser):
    """exp(s) / sum exp(s) over the keys that may be seen. [Vaswani 2017, 3.2.1, Eq. 1]

    Computed in float32 whatever the dtype of the scores; masked keys never take part, however negative the others are.
    """

    axis = -1

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


@final
class Sparsemax(Normaliser):
    """The point of the simplex that is nearest to the scores: max(s - tau, 0) with sum 1. [Martins 2016, Algorithm 1]

    Exact, forward and backward (2.5: on the support the gradient minus its mean there, elsewhere 0).
    """

    axis = -1

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        hidden = _hide(scores, mask)
        hidden = hidden - hidden.detach().amax(dim=-1, keepdim=True).clamp(min=torch.finfo(hidden.dtype).min)
        ranked = hidden.sort(dim=-1, descending=True).values
        sums = ranked.cumsum(dim=-1)
        count = torch.arange(1, scores.shape[-1] + 1, device=scores.device)
        size = (1 + count * ranked > sums).sum(dim=-1, keepdim=True).clamp(min=1)  # of the support, in [1, S]
        threshold = (sums.gather(-1, size - 1) - 1) / size
        return torch.where(hidden > threshold, hidden - threshold, 0.0).to(scores.dtype)


@final
class TopK(Normaliser):
    """The softmax weights of exactly k keys, renormalised; ties go to the earlier key, fewer visible keys are all kept.

    The name hides a trap: tensor2tensor's `hard_attention_k` subtracts the k-th weight, so that it keeps k - 1 keys.
    """

    axis = -1

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError(f"`k` must be at least 1, but is {k}.")
        self.k = k

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        return softmax(scores, Mask(_first(_hide(scores, mask), self.k)))


@final
class Argmax(Normaliser):
    """All weight on the best key, the earlier one of a tie; no gradient reaches the scores."""

    axis = -1

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        return _first(_hide(scores, mask), 1).to(scores.dtype)


@final
class StraightThrough(Normaliser):
    """Forward the best key alone, backward the softmax. [Bengio 2013]"""

    axis = -1

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        soft = softmax(scores, mask)
        return Argmax()(scores, mask) + (soft - soft.detach())


class SampledWeights(NamedTuple):
    """One draw for each row, with its log-probability and the entropy (nats) of the row; both 0 in an empty row."""

    weights: Float[Tensor, "B H T S"]
    log_p: Float[Tensor, "B H T"]
    entropy: Float[Tensor, "B H T"]


@final
class Sample(Normaliser):
    """All weight on one key, drawn with the softmax as probability. [Xu 2015, 4.1]

    With probability `expected`, decided for each row, a row has the softmax itself as weights and log_p = 0, since
    nothing was drawn (there 0.5). At test time take `Argmax` or `softmax` instead. Without a `generator`, torch's
    global one of the scores' device draws.
    """

    axis = -1

    def __init__(self, generator: torch.Generator | None, expected: float = 0.0) -> None:
        if not 0 <= expected <= 1:
            raise ValueError(f"`expected` is a probability, but is {expected}.")
        self.generator = generator
        self.expected = expected

    def draw(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> SampledWeights:
        """Return weights and what a gradient estimator needs of them."""
        p = softmax(scores, mask)
        seen = p > 0
        filled = p.detach().masked_fill(~seen.any(dim=-1, keepdim=True), 1.0)  # an empty row must be drawn from, too
        chosen = torch.multinomial(filled.flatten(0, 2), 1, generator=self.generator).view(*p.shape[:3], 1)
        log_p = torch.where(seen, p, 1.0).log()
        one = torch.zeros_like(p).scatter(-1, chosen, 1.0) * seen
        soft = torch.rand(chosen.shape, generator=self.generator, device=p.device) < self.expected
        return SampledWeights(torch.where(soft, p, one), (log_p * one * ~soft).sum(dim=-1), -(p * log_p).sum(dim=-1))

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        return self.draw(scores, mask).weights


def _hide(scores: Tensor, mask: Mask | None) -> Tensor:
    """Return the scores in float32 or wider, -inf where the mask is False."""
    exact = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return exact if mask is None else torch.where(mask.visible, exact, float("-inf"))


def _first(hidden: Tensor, k: int) -> Bool[Tensor, "B H T S"]:
    """Mark the k best scores of each row that are not -inf; of a tie, the earlier one."""
    best = hidden.argsort(dim=-1, descending=True, stable=True)[..., :k]
    return torch.zeros_like(hidden, dtype=torch.bool).scatter(-1, best, True) & (hidden > float("-inf"))
