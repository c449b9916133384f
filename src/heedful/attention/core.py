"""Attention in four slots: score, mask, normalise, aggregate; dropout on the weights between the last two.

Knows no parameters, no heads and no layers: whatever has weights lives in a score or a projection.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from heedful.attention.aggregate import Aggregate, weighted_sum
from heedful.attention.masks import Mask
from heedful.attention.normalise import Normaliser, Sample, Softmax, softmax
from heedful.attention.scores import Score, scaled_dot


class Attended(NamedTuple):
    """What reading a memory gave. `weights` are those before dropout; None where the fused kernel did not form them."""

    context: Float[Tensor, "B H T E"]
    weights: Float[Tensor, "B H T S"] | None


def attend(
    query: Float[Tensor, "B H T Eq"],
    key: Float[Tensor, "B H S Ek"],
    value: Num[Tensor, "B H S Ev"],
    *,
    score: Score,
    mask: Mask | None = None,
    normalise: Normaliser = softmax,
    aggregate: Aggregate = weighted_sum,
    dropout: float = 0.0,
) -> Attended:
    """Read a memory: weights = normalise(score(query, key), mask), context = aggregate(dropout(weights), value).

    `dropout` is a probability for this call: pass 0 outside training. A query that may see no key gets a zero context.
    Raises ValueError if the mask does not fit the scores.
    """
    scores = score(query, key)
    if mask is not None:
        mask.check(*scores.shape)
    weights = normalise(scores, mask)
    used = nn.functional.dropout(weights, dropout) if dropout else weights
    return Attended(aggregate(used, value), weights)


class Drawn(NamedTuple):
    """What a sampled reading gave; `log_p` and `entropy` (nats) of each row carry gradients to the scores."""

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
    aggregate: Aggregate = weighted_sum,
) -> Drawn:
    """`attend` with sampled weights, and what REINFORCE needs of the draw (`heedful.gallery.pooling.reinforce`)."""
    scores = score(query, key)
    if mask is not None:
        mask.check(*scores.shape)
    draw = normalise.draw(scores, mask)
    return Drawn(aggregate(draw.weights, value), draw.weights, draw.log_p, draw.entropy)


def scaled_dot_product_attention(
    query: Float[Tensor, "B H T E"],
    key: Float[Tensor, "B H S E"],
    value: Float[Tensor, "B H S Ev"],
    mask: Mask | None = None,
) -> Attended:
    """softmax(Q K^T / sqrt(d_k)) V. [Vaswani 2017, 3.2.1, Eq. 1]"""
    return attend(query, key, value, score=scaled_dot, mask=mask)


def fused_attention(
    query: Float[Tensor, "B H T E"],
    key: Float[Tensor, "B H S E"],
    value: Float[Tensor, "B H S Ev"],
    *,
    mask: Mask | None = None,
    dropout: float = 0.0,
) -> Attended:
    """Eq. 1 by torch's fused kernel: equal to `attend(..., score=scaled_dot)` without ever forming the weights."""
    if mask is None:
        return Attended(nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout), None)
    mask.check(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    shape = (query.shape[0], mask.visible.shape[1], query.shape[2], key.shape[2])
    visible = mask.visible.expand(shape)
    context = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=visible, dropout_p=dropout)
    return Attended(context, None)


def quickest_attention(
    query: Float[Tensor, "B H T Eq"],
    key: Float[Tensor, "B H S Ek"],
    value: Float[Tensor, "B H S Ev"],
    *,
    score: Score,
    mask: Mask | None = None,
    normalise: Normaliser = softmax,
    dropout: float = 0.0,
) -> Attended:
    """`attend`, by the fused kernel where it computes the same and is quicker: for whoever needs no weights.

    Torch's kernel wins except on a CPU in bfloat16, whose products it does not use (benchmarks/attention.py).
    """
    slow = query.device.type == "cpu" and query.dtype == torch.bfloat16
    if score is scaled_dot and isinstance(normalise, Softmax) and not slow:
        return fused_attention(query, key, value, mask=mask, dropout=dropout)
    return attend(query, key, value, score=score, mask=mask, normalise=normalise, dropout=dropout)
