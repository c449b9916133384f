"""Restricted self-attention: each position reads its neighbours, in long sequences at a cost linear in the length.

Knows no heads and no projections; scores, masks and softmax are those of `attend`, block by block.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention.aggregate import Aggregate, weighted_sum
from heedful.attention.core import Attended, Bias, quickest_attention
from heedful.attention.masks import Mask
from heedful.attention.normalise import Normaliser, softmax
from heedful.attention.scores import Score, scaled_dot


def restricted_attention(
    query: Float[Tensor, "B H T E"],
    key: Float[Tensor, "B H T Ek"],
    value: Float[Tensor, "B H T Ev"],
    radius: int,
    *,
    mask: Mask | None = None,
    bias: Bias | None = None,
    score: Score = scaled_dot,
    normalise: Normaliser = softmax,
    aggregate: Aggregate = weighted_sum,
    dropout: float = 0.0,
) -> Attended:
    """Compute attention with |s - t| <= radius, r = 2 radius + 1 keys, by the faster of two methods. [Vaswani 2017, 4]

    `attend` with `Mask.around` for short sequences, `banded_attention` for long ones: equal in result and gradient.
    With a bias or another aggregate, which know the whole table, it is the first at any length.
    """
    length = query.shape[2]
    if bias is None and aggregate is weighted_sum and blocks_win(length, radius):
        slots = {"mask": mask, "score": score, "normalise": normalise, "dropout": dropout}
        return banded_attention(query, key, value, radius, **slots)
    window = Mask.around(torch.arange(length, device=query.device), radius, length)
    both = window if mask is None else window & mask
    slots = {"mask": both, "bias": bias, "score": score, "normalise": normalise, "aggregate": aggregate}
    return quickest_attention(query, key, value, dropout=dropout, **slots)._replace(weights=None)


def blocks_win(length: int, radius: int) -> bool:
    """Return whether blocks are faster than the fused kernel on the full table, by benchmarks/attention.py on a CPU."""
    return length >= max(192, 8 * radius)


def banded_attention(
    query: Float[Tensor, "B H T E"],
    key: Float[Tensor, "B H T Ek"],
    value: Float[Tensor, "B H T Ev"],
    radius: int,
    *,
    mask: Mask | None = None,
    score: Score = scaled_dot,
    normalise: Normaliser = softmax,
    dropout: float = 0.0,
) -> Attended:
    """Compute banded attention in O(r n d) instead of O(n^2 d): each block of `radius` queries reads its own keys and
    `radius` more on either side.

    The score must look at pairs alone, not at positions (as `Location` does); `mask` may hide keys, not pairs:
    [B, 1, 1, T], or ValueError. The weights are not returned.
    """
    length, block = query.shape[2], max(1, radius)
    real = torch.ones(1, 1, 1, length, dtype=torch.bool, device=query.device) if mask is None else mask.visible
    if real.shape[1:] != (1, 1, length):
        raise ValueError(f"`mask` must hide keys, [B, 1, 1, {length}], but is {list(real.shape)}.")
    n_blocks = -(-length // block)

    def windows(part: Tensor) -> Tensor:
        """Gather the keys of each block: [B H T E] to [B*N H W E]."""
        padded = nn.functional.pad(part, (0, 0, radius, n_blocks * block - length + radius))
        return padded.unfold(2, block + 2 * radius, block).transpose(1, 2).flatten(0, 1).mT

    positions = torch.arange(block + 2 * radius, device=query.device) - radius
    near = (positions - torch.arange(block, device=query.device)[:, None]).abs() <= radius  # [block W]
    visible = windows(real.expand(len(query), 1, 1, length).mT).mT & near  # [B*N 1 block W]
    blocks = nn.functional.pad(query, (0, 0, 0, n_blocks * block - length)).unflatten(2, (n_blocks, block))
    blocks = blocks.transpose(1, 2).flatten(0, 1)  # [B*N H block E]
    slots = {"score": score, "mask": Mask(visible), "normalise": normalise, "dropout": dropout}
    context = quickest_attention(blocks, windows(key), windows(value), **slots).context
    context = context.unflatten(0, (-1, n_blocks)).transpose(1, 2).flatten(2, 3)
    return Attended(context[:, :, :length], None)
