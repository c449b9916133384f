"""Where a token stands: sinusoids in two layouts, and learned positions. Knows no tokens."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

Layout = Literal["sinusoidal", "t2t"]


def sinusoids(length: int, d_model: int, layout: Layout) -> Float[Tensor, "L D"]:
    """PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(p / 10000^(2i/d)). [Vaswani 2017, 3.5]

    Low columns turn fast, high columns slowly. An odd `d_model` ends with a sine that has no cosine.
    "t2t" is tensor2tensor's: [sin | cos] in halves, with exponents i / (d/2 - 1), and a zero last column if d is odd.
    """
    positions = torch.arange(length, dtype=torch.float64)[:, None]
    if layout == "t2t":
        n_waves = d_model // 2
        exponents = torch.arange(n_waves, dtype=torch.float64) / max(n_waves - 1, 1)
        angles = positions * 10000.0**-exponents
        waves = torch.cat([angles.sin(), angles.cos()], dim=1)
        return nn.functional.pad(waves, (0, d_model - 2 * n_waves)).float()
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = positions * 10000.0**-exponents
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()[:, : d_model // 2]
    return table.float()


class SinusoidalPositions(nn.Module):
    """Fixed sinusoids; any length, though nothing promises that a model generalises to lengths it never saw."""

    READY = 1024  # rows computed in advance; longer sequences compute theirs when they come

    def __init__(self, d_model: int, layout: Layout) -> None:
        super().__init__()
        self.d_model = d_model
        self.layout: Layout = layout
        self.register_buffer("table", sinusoids(self.READY, d_model, layout), persistent=False)

    def forward(self, length: int, offset: int = 0) -> Float[Tensor, "L D"]:
        """The rows of positions offset to offset + length - 1."""
        table = self.get_buffer("table")
        if offset + length > self.READY:
            table = sinusoids(offset + length, self.d_model, self.layout).to(table)
        return table[offset : offset + length]


class LearnedPositions(nn.Module):
    """A trained row for each position below `max_positions`, and none beyond. [Vaswani 2017, Table 3, row E]"""

    def __init__(self, d_model: int, max_positions: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, length: int, offset: int = 0) -> Float[Tensor, "L D"]:
        """The rows of positions offset to offset + length - 1. Raises ValueError beyond `max_positions`."""
        if offset + length > len(self.weight):
            raise ValueError(
                f"A sequence of {offset + length} tokens is longer than the {len(self.weight)} learned positions "
                "(`model.max_positions`)."
            )
        return self.weight[offset : offset + length]
