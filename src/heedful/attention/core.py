"""Attention in four slots: score, mask, normalise, aggregate; dropout on the weights between the last two.

To the scores a bias may be added, such as one of distances. Knows no parameters, no heads and no layers: whatever has
weights lives in a score or a projection.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from heedful.attention.aggregate import Aggregate, weighted_sum
from heedful.attention.masks import Mask
from heedful.attention.normalise import Normaliser, Sample, Softmax, softmax
from heedful.attention.scores import Score, scaled_dot
from heedful.attention.shapes import check_mask, check_parts, check_same_width

A_REGISTER = 16  # float32 numbers in the widest one of a CPU
Bias = Float[Tensor, "B_or_1 H_or_1 T_or_1 S_or_1"]


class Attended(NamedTuple):
    """Result of attention. `weights` are those before dropout; None where the fused kernel did not form them."""

    context: Float[Tensor, "B H T E"]
    weights: Float[Tensor, "B H T S"] | None


def attend(
    query: Float[Tensor, "B H T Eq"],
    key: Float[Tensor, "B H S Ek"],
    value: Num[Tensor, "B H S Ev"],
    *,
    score: Score,
    mask: Mask | None = None,
    bias: Bias | None = None,
    normalise: Normaliser = softmax,
    aggregate: Aggregate = weighted_sum,
    dropout: float = 0.0,
) -> Attended:
    """Read a memory: weights = normalise(score(query, key) + bias, mask), context = aggregate(dropout(weights), value).

    `dropout` is a probability for this call: pass 0 outside training. A query that may see no key gets a zero context.
    Raises TypeError for a mask that is no `Mask`, and ValueError where shapes do not fit.
    """
    check_parts(query, key, value, score)
    scores = _biased(score(query, key), bias)
    if mask is not None:
        check_mask(mask, scores.shape)
    weights = normalise(scores, mask)
    used = nn.functional.dropout(weights, dropout) if dropout else weights
    return Attended(aggregate(used, value), weights)


class SampledAttention(NamedTuple):
    """Result of sampled attention; `log_p` and `entropy` (nats) of each row carry gradients to the scores."""

    context: Float[Tensor, "B H T E"]
    weights: Float[Tensor, "B H T S"]
    log_p: Float[Tensor, "B H T"]
    entropy: Float[Tensor, "B H T"]


def attend_drawn(
    query: Float[Tensor, "B H T Eq"],
    key: Float[Tensor, "B H S Ek"],
    value: Num[Tensor, "B H S Ev"],
    *,
    score: Score,
    normalise: Sample,
    mask: Mask | None = None,
    bias: Bias | None = None,
    aggregate: Aggregate = weighted_sum,
) -> SampledAttention:
    """Compute `attend` with sampled weights, and what REINFORCE needs of the draw
    (`heedful.gallery.pooling.reinforce`).
    """
    check_parts(query, key, value, score)
    scores = _biased(score(query, key), bias)
    if mask is not None:
        check_mask(mask, scores.shape)
    draw = normalise.draw(scores, mask)
    return SampledAttention(aggregate(draw.weights, value), draw.weights, draw.log_p, draw.entropy)


def scaled_dot_product_attention(
    query: Float[Tensor, "B H T E"],
    key: Float[Tensor, "B H S E"],
    value: Float[Tensor, "B H S Ev"],
    mask: Mask | None = None,
) -> Attended:
    """Compute softmax(Q K^T / sqrt(d_k)) V. [Vaswani 2017, 3.2.1, Eq. 1]"""
    return attend(query, key, value, score=scaled_dot, mask=mask)


def fused_attention(
    query: Float[Tensor, "B H T E"],
    key: Float[Tensor, "B H S E"],
    value: Float[Tensor, "B H S Ev"],
    *,
    mask: Mask | None = None,
    bias: Bias | None = None,
    dropout: float = 0.0,
) -> Attended:
    """Compute Eq. 1 by torch's fused kernel: equal to `attend(..., score=scaled_dot)` without ever
    forming the weights.
    """
    check_parts(query, key, value, scaled_dot)
    check_same_width(query, key)
    if mask is None and bias is None and not dropout and query.device.type == "cpu" and key.shape[2] < A_REGISTER:
        bias = query.new_zeros(1, 1, 1, 1)  # without a mask it turns rows of nothing but NaN into zeros
    if mask is None and bias is None:
        return Attended(nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout), None)
    shape = query.shape[0], query.shape[1], query.shape[2], key.shape[2]
    added = _kernel_mask(mask, bias, shape, query.dtype)
    context = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=added, dropout_p=dropout)
    return Attended(context, None)


def quickest_attention(
    query: Float[Tensor, "B H T Eq"],
    key: Float[Tensor, "B H S Ek"],
    value: Float[Tensor, "B H S Ev"],
    *,
    score: Score,
    mask: Mask | None = None,
    bias: Bias | None = None,
    normalise: Normaliser = softmax,
    aggregate: Aggregate = weighted_sum,
    dropout: float = 0.0,
) -> Attended:
    """Compute `attend` by the fused kernel where that gives the same result faster; for callers that need no weights.

    Torch's kernel wins except on a CPU in bfloat16, whose products it does not use (benchmarks/attention.py).
    """
    slow = query.device.type == "cpu" and query.dtype == torch.bfloat16
    if score is scaled_dot and isinstance(normalise, Softmax) and aggregate is weighted_sum and not slow:
        return fused_attention(query, key, value, mask=mask, bias=bias, dropout=dropout)
    slots = {"score": score, "mask": mask, "bias": bias, "normalise": normalise, "aggregate": aggregate}
    return attend(query, key, value, dropout=dropout, **slots)


def _biased(scores: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return scores
    _check_bias(bias, scores.shape)
    return scores + bias


def _check_bias(bias: Tensor, shape: Sequence[int]) -> None:
    if not isinstance(bias, Tensor):
        raise TypeError(f"`bias` must be a tensor [B H T S], any of these axes 1, but is a {type(bias).__name__}.")
    if bias.dim() != 4 or any(have not in (1, want) for have, want in zip(bias.shape, shape, strict=True)):
        raise ValueError(f"A bias of shape {list(bias.shape)} does not fit scores of shape {list(shape)}.")


def _kernel_mask(
    mask: Mask | None, bias: Tensor | None, shape: tuple[int, int, int, int], dtype: torch.dtype
) -> Tensor:
    """Return what torch's kernel takes for both: a bool table where there is no bias, else numbers, -inf if hidden."""
    batch, _, n_queries, n_keys = shape
    if mask is not None:
        check_mask(mask, shape)
    if bias is None:
        assert mask is not None
        added = mask.visible
    else:
        _check_bias(bias, shape)
        added = bias.to(dtype) if mask is None else torch.where(mask.visible, bias.to(dtype), float("-inf"))
    return added.expand(batch, added.shape[1], n_queries, n_keys)
