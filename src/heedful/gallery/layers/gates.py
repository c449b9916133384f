"""Gates: they rescale what they are given and aggregate nothing, so no row of theirs sums to 1. Knows no `attend`.

Mixing layers and pooling over time are weighted sums, not gates: see `layers.mix` and `attention.pooling`.
"""

from abc import ABC, abstractmethod
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Gate(nn.Module, ABC):
    """x times a multiplier in (0, 1) that is made from x and broadcasts over it."""

    @abstractmethod
    def multiplier(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B #C #Y #X"]:
        """Return the factor of each part of x."""

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        return x * self.multiplier(x)


@final
class ChannelGate(Gate):
    """sigma(W_2 relu(W_1 z)), z the mean of each channel. [Hu 2018, 3.1 and 3.2]

    With `pools=("mean", "max")` the two results of the same network are added before sigma. [Woo 2018, Eq. 2]
    """

    def __init__(
        self, n_channels: int, reduction: int = 16, pools: tuple[Literal["mean", "max"], ...] = ("mean",)
    ) -> None:
        super().__init__()
        hidden = max(1, n_channels // reduction)
        self.pools = pools
        self.inner = nn.Linear(n_channels, hidden, bias=False)
        self.outer = nn.Linear(hidden, n_channels, bias=False)

    def multiplier(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C 1 1"]:
        """Return one factor a channel."""
        flat = x.flatten(2)
        squeezed = [flat.mean(dim=-1) if pool == "mean" else flat.amax(dim=-1) for pool in self.pools]  # [B C]
        excited = [self.outer(torch.relu(self.inner(z))) for z in squeezed]
        return torch.sigmoid(torch.stack(excited).sum(dim=0))[..., None, None]


@final
class SpatialGate(Gate):
    """sigma(f([mean; max over the channels])), f a 7 x 7 convolution. [Woo 2018, Eq. 3]"""

    def __init__(self, kernel: int = 7) -> None:
        super().__init__()
        if kernel % 2 == 0:
            raise ValueError(f"`kernel` must be odd, so that positions stay aligned, but is {kernel}.")
        self.convolve = nn.Conv2d(2, 1, kernel, padding=kernel // 2, bias=False)

    def multiplier(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B 1 Y X"]:
        """Return one factor a position."""
        return torch.sigmoid(self.convolve(torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], dim=1)))


@final
class MixedGate(Gate):
    """First the channels, then the positions. [Woo 2018, Eq. 1]"""

    def __init__(self, channel: ChannelGate, spatial: SpatialGate) -> None:
        super().__init__()
        self.channel = channel
        self.spatial = spatial

    def multiplier(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        """Return one factor an element: the product of both."""
        channels = self.channel.multiplier(x)
        return channels * self.spatial.multiplier(x * channels)
