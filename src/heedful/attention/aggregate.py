"""What is made of weights and values: the fourth slot of `attend`. Knows no scores and no masks.

An aggregate maps weights [B H T S] and values [B H S E] to a context [B H T C].
"""

from collections.abc import Callable
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

Aggregate = Callable[[Tensor, Tensor], Tensor]


def weighted_sum(weights: Float[Tensor, "B H T S"], value: Float[Tensor, "B #H S E"]) -> Float[Tensor, "B H T E"]:
    """Compute sum_s w_s v_s. [Bahdanau 2015, Eq. 5]"""
    return weights.to(value.dtype) @ value


def elementwise(weights: Float[Tensor, "B HE T S"], value: Float[Tensor, "B H S E"]) -> Float[Tensor, "B H T E"]:
    """Compute sum_s P_s * v_s, with one weight per feature: for the weights of a feature-wise score.
    [Shen 2018, 3.1]
    """
    batch, heads, n_keys, width = value.shape
    read = weights.view(batch, heads, width, -1, n_keys).to(value.dtype) @ value.mT[..., None]  # [B H E T 1]
    return read[..., 0].mT


@final
class GatherTop:
    """The n values of the largest weights, largest first, each times its weight, joined: [B H T n E].

    The index of a value has no gradient; the factor carries one to the scores. Ties go to the earlier key, and a memory
    of fewer than n values is filled up with zeros.
    """

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"`n` must be at least 1, but is {n}.")
        self.n = n

    def __call__(self, weights: Float[Tensor, "B H T S"], value: Float[Tensor, "B H S E"]) -> Float[Tensor, "B H T nE"]:
        chosen = weights.argsort(dim=-1, descending=True, stable=True)[..., : self.n]  # [B H T n]
        width = value.shape[-1]
        each = value[:, :, None].expand(-1, -1, weights.shape[2], -1, -1)  # [B H T S E]
        taken = each.gather(3, chosen[..., None].expand(*chosen.shape, width))
        taken = taken * weights.gather(-1, chosen).to(value.dtype)[..., None]
        missing = self.n - chosen.shape[-1]
        return torch.nn.functional.pad(taken.flatten(3), (0, missing * width))


@final
class ScatterSum:
    """The weight of each word, summed over its positions: [B H T V]. Values are word ids. [Kadlec 2016]"""

    def __init__(self, n_words: int) -> None:
        self.n_words = n_words

    def __call__(self, weights: Float[Tensor, "B H T S"], value: Int[Tensor, "B H S 1"]) -> Float[Tensor, "B H T V"]:
        words = value.mT.expand_as(weights)
        return weights.new_zeros(*weights.shape[:3], self.n_words).scatter_add(-1, words, weights)
