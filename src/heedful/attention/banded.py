"""Restricted self-attention without the full table: each place reads its neighbours, at a cost linear in the length.

Knows no heads and no projections; scores, masks and softmax are those of `attend`, block by block.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention.core import Attended, attend, fused_attention
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
    score: Score = scaled_dot,
    normalise: Normaliser = softmax,
) -> Attended:
    """Attention with |s - t| <= radius, r = 2 radius in the paper: O(r n d) instead of O(n^2 d). [Vaswani 2017, 4]

    Equal to `attend` with `Mask.around(arange(T), radius, T)`, and that is what is done for a sequence so short that
    blocks save nothing. Otherwise queries go in blocks of `radius`, each with the keys that it may see: one block and
    `radius` keys on either side. The score must look at pairs alone, not at places (as `Location` does). `mask` may
    hide keys, not pairs: [B 1 1 T]. The weights are never formed. Raises ValueError for another mask.
    """
    length = query.shape[2]
    if mask is not None and (mask.visible.shape[1:3] != (1, 1) or mask.visible.shape[3] not in (1, length)):
        raise ValueError(f"Restricted attention takes a mask of keys, [B, 1, 1, {length}], not {_shape(mask)}.")
    if not blocks_win(length, radius):
        window = Mask.around(torch.arange(length, device=query.device), radius, length)
        return Attended(_read(query, key, value, window if mask is None else window & mask, score, normalise), None)
    n_blocks = -(-length // radius)
    reach = 3 * radius
    real = torch.ones(1, 1, 1, length, dtype=torch.bool, device=query.device) if mask is None else mask.visible
    real = _windows(real.expand(query.shape[0], 1, 1, length).mT, radius, n_blocks)  # [B*N 1 3R 1]
    places = torch.arange(radius, device=query.device)[:, None]
    near = (torch.arange(reach, device=query.device) - radius - places).abs() <= radius  # [R 3R]
    blocks = nn.functional.pad(query, (0, 0, 0, n_blocks * radius - length)).unflatten(2, (n_blocks, radius))
    blocks = blocks.transpose(1, 2).flatten(0, 1)  # [B*N H R E]
    keys, values = (_windows(part, radius, n_blocks) for part in (key, value))  # [B*N H 3R E]
    context = _read(blocks, keys, values, Mask(real.mT & near), score, normalise)
    context = context.unflatten(0, (-1, n_blocks)).transpose(1, 2).flatten(2, 3)
    return Attended(context[:, :, :length], None)


def blocks_win(length: int, radius: int) -> bool:
    """Whether blocks are quicker than the full table: measured by benchmarks/attention.py."""
    return radius > 0 and length > 8 * radius


def _windows(part: Tensor, radius: int, n_blocks: int) -> Tensor:
    """Block n's keys, with `radius` more on either side: [B H T E] to [B*N H 3R E]."""
    batch, heads, length, width = part.shape
    padded = nn.functional.pad(part, (0, 0, radius, (n_blocks + 1) * radius - length))
    windows = padded.unfold(2, 3 * radius, radius)  # [B H N E 3R]
    return windows.permute(0, 2, 1, 4, 3).reshape(batch * n_blocks, heads, 3 * radius, width)


def _read(query: Tensor, key: Tensor, value: Tensor, mask: Mask, score: Score, normalise: Normaliser) -> Tensor:
    if score is scaled_dot and normalise is softmax:
        return fused_attention(query, key, value, mask=mask).context
    return attend(query, key, value, score=score, mask=mask, normalise=normalise).context


def _shape(mask: Mask) -> list[int]:
    return list(mask.visible.shape)
