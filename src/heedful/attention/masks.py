"""Named masks: who may attend to whom. True = may attend, everywhere.

Knows no scores: masks are applied by the normaliser. A bare tensor is never taken for a mask, because a square
[B, S] tensor would silently pass for [T, S] wherever B equals T.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor


class Mask(NamedTuple):
    """A visibility of shape [B or 1, H or 1, T or 1, S or 1]; build one by name, and combine with `&`."""

    visible: Bool[Tensor, "B_or_1 H_or_1 T_or_1 S_or_1"]

    @staticmethod
    def key_padding(real: Bool[Tensor, "B S"]) -> "Mask":
        """Hide the filler keys of each sentence: True where a key is real."""
        return Mask(_boolean(real, "key_padding", 2)[:, None, None, :])

    @staticmethod
    def pair(visible: Bool[Tensor, "T S"]) -> "Mask":
        """Make a mask that all sentences and heads share: may query t see key s?"""
        return Mask(_boolean(visible, "pair", 2)[None, None])

    @staticmethod
    def full(visible: Bool[Tensor, "B H_or_1 T S"]) -> "Mask":
        """Make a mask with a table for each sentence, and for each head or for all heads."""
        return Mask(_boolean(visible, "full", 4))

    @staticmethod
    def causal(n_queries: int, n_keys: int, offset: int, device: torch.device | None = None) -> "Mask":
        """Let query t, at position offset + t, see the keys at positions 0 to offset + t.

        The offset is required: with 1 query and 4 cached keys it is 3, and nothing else tells. [Vaswani 2017, 3.2.3]
        """
        if offset < 0:
            raise ValueError(f"`offset` is the position of the first query, so at least 0, but is {offset}.")
        query_positions = torch.arange(offset, offset + n_queries, device=device)[:, None]
        return Mask.pair(torch.arange(n_keys, device=device)[None, :] <= query_positions)

    @staticmethod
    def past(length: int, device: torch.device | None = None) -> "Mask":
        """Let query t see the keys before t, itself excluded, so that the first sees nothing. [Shen
        2018, 3.3, forward]
        """
        positions = torch.arange(length, device=device)
        return Mask.pair(positions[None, :] < positions[:, None])

    @staticmethod
    def future(length: int, device: torch.device | None = None) -> "Mask":
        """Let query t see the keys after t, itself excluded, so that the last sees nothing. [Shen
        2018, 3.3, backward]
        """
        positions = torch.arange(length, device=device)
        return Mask.pair(positions[None, :] > positions[:, None])

    @staticmethod
    def around(centre: Shaped[Tensor, "*B T"], radius: int, n_keys: int) -> "Mask":
        """Let query t see the keys s with |s - centre[t]| <= radius; centres may be real numbers, and one for each
        head.

        With centre t it is restricted self-attention, r = 2 radius + 1 [Vaswani 2017, 4], and Luong's local-m.
        """
        if radius < 0:
            raise ValueError(f"`radius` must be at least 0, but is {radius}.")
        distance = torch.arange(n_keys, device=centre.device) - centre[..., None]
        visible = distance.abs() <= radius  # [.. T S]
        return Mask({2: visible[None, None], 3: visible[:, None], 4: visible}[visible.dim()])

    def __and__(self, other: "Mask") -> "Mask":
        """Combine two masks: a key is visible where both show it."""
        return Mask(self.visible & other.visible)

    def check(self, batch: int, heads: int, queries: int, keys: int) -> None:
        """Raise ValueError if this mask does not fit scores of shape [batch, heads, queries, keys]."""
        wanted = (batch, heads, queries, keys)
        if any(have not in (1, want) for have, want in zip(self.visible.shape, wanted, strict=True)):
            raise ValueError(f"A mask of shape {list(self.visible.shape)} does not fit scores of shape {list(wanted)}.")


def _boolean(visible: Tensor, name: str, rank: int) -> Tensor:
    if visible.dtype != torch.bool:
        raise ValueError(f"`{name}` takes a bool mask, True = may attend, but the dtype is {visible.dtype}.")
    if visible.dim() != rank:
        raise ValueError(f"`{name}` takes a mask of {rank} dimensions, but the shape is {list(visible.shape)}.")
    return visible
