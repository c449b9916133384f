"""Queries, keys, values and masks of every kind, small and seeded."""

import torch
from torch import Tensor

from heedful.attention import Mask

B, H, T, S, E = 3, 2, 5, 6, 4

REAL = torch.tensor([[True] * S, [True] * 4 + [False] * 2, [True] + [False] * 5])
"""The keys of three sentences with 6, 4 and 1 tokens."""


def _each_head_its_own() -> Mask:
    visible = torch.rand(B, H, T, S, generator=torch.Generator().manual_seed(3)) < 0.6
    visible[..., 0] = True
    return Mask.full(visible)


def _with_empty_rows() -> Mask:
    visible = torch.ones(B, 1, T, S, dtype=torch.bool)
    visible[1, :, 2] = False
    visible[2] = False
    return Mask.full(visible)


MASKS: dict[str, Mask | None] = {
    "none": None,
    "key padding": Mask.key_padding(REAL),
    "causal": Mask.causal(T, S, offset=1),
    "causal and key padding": Mask.causal(T, S, offset=1) & Mask.key_padding(REAL),
    "a table for each head": _each_head_its_own(),
    "empty rows": _with_empty_rows(),
}


def inputs(seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """A query, a key and a value that ask for gradients; the value is wider than the key."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((B, H, T, E), (B, H, S, E), (B, H, S, E + 1))
    made = [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]
    query, key, value = (tensor.requires_grad_() for tensor in made)
    return query, key, value
