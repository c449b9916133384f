"""One vector of a sequence without any parameter: mean and maximum over its real positions. Knows no attention."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def masked_mean(h: Float[Tensor, "*rows S D"], mask: Bool[Tensor, "*rows S"]) -> Float[Tensor, "*rows D"]:
    """Return the mean of the vectors where `mask` is True; zeros where it never is."""
    total = torch.where(mask[..., None], h, 0.0).sum(dim=-2)
    return total / mask.sum(dim=-1, keepdim=True).clamp(min=1)


def masked_max(h: Float[Tensor, "*rows S D"], mask: Bool[Tensor, "*rows S"]) -> Float[Tensor, "*rows D"]:
    """Return the largest value of each feature where `mask` is True; zeros where it never is."""
    largest = torch.where(mask[..., None], h, float("-inf")).amax(dim=-2)
    return torch.where(mask.any(dim=-1, keepdim=True), largest, 0.0)
