"""Luong's local attention: a window that moves along the memory. Knows no score, and softmaxes nothing itself."""

from typing import Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attention.masks import Mask
from heedful.attention.normalise import Normaliser, softmax

Window = Literal["exact", "floor", "round"]


@final
class LocalP(Normaliser):
    """Softmax in a window around p_t, times exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2. [Luong 2015, Eq. 10]

    The Gaussian comes after the softmax and is not renormalised, so rows sum to less than 1. Made for one call:
    `position` is p_t, real, and its gradient goes through the Gaussian; the window has none. It holds the keys with
    |s - p_t| <= D as in the paper, or those around "floor" (the authors' code) or "round" of p_t. Local-m, p_t = t, is
    plain softmax with `Mask.around`.
    """

    axis = -1

    def __init__(self, position: Float[Tensor, "B T"], radius: int, window: Window = "exact") -> None:
        if radius < 1:
            raise ValueError(f"`radius` must be at least 1, but is {radius}.")
        self.position = position
        self.radius = radius
        self.window: Window = window

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        p = self.position
        centre = {"exact": p, "floor": p.floor(), "round": p.round()}[self.window].detach()
        window = Mask.around(centre, self.radius, scores.shape[-1])
        distance = torch.arange(scores.shape[-1], device=p.device) - p[:, None, :, None]
        near = torch.exp(-2 * (distance / self.radius) ** 2)
        return (softmax(scores, window if mask is None else window & mask) * near).to(scores.dtype)


@final
class PositionPredictor(nn.Module):
    """p_t = (S - 1) sigmoid(v . tanh(W h_t)), a position in a memory of S real keys. [Luong 2015, 3.2, Eq. 9]

    The paper has S for S - 1, as it counts from 1; the authors' code has S - 1.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden, bias=False)
        self.outer = nn.Linear(hidden, 1, bias=False)

    def forward(self, query: Float[Tensor, "B T E"], n_keys: Int[Tensor, " B"]) -> Float[Tensor, "B T"]:
        return (n_keys[:, None] - 1) * torch.sigmoid(self.outer(torch.tanh(self.inner(query)))[..., 0])
