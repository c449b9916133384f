"""Where a token stands, as a vector that is added to its own: sinusoids in two layouts, learned positions, or nothing.

Knows no tokens. What attention itself is told of positions is in `heedful.layers.relative`.
"""

from abc import ABC, abstractmethod
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

Layout = Literal["sinusoidal", "t2t"]


def sinusoids(length: int, d_model: int, layout: Layout, first: int = 0) -> Float[Tensor, "L D"]:
    """Compute PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(p / 10000^(2i/d)). [Vaswani 2017, 3.5]

    Low columns turn fast, high columns slowly. An odd `d_model` ends with a sine that has no cosine.
    "t2t" is tensor2tensor's: [sin | cos] in halves, with exponents i / (d/2 - 1), and a zero last column if d is odd.
    """
    positions = torch.arange(first, first + length, dtype=torch.float64)[:, None]
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


class Positions(nn.Module, ABC):
    """Position vectors, added to the embeddings of tokens."""

    @property
    def longest(self) -> int | None:
        """The most positions that there are; None where there is one for any length."""
        return None

    @abstractmethod
    def forward(self, length: int, offset: int = 0) -> Float[Tensor, "L D"]:
        """Return the rows of positions offset to offset + length - 1."""


@final
class NoPositions(Positions):
    """Zeros: tokens are not told where they stand."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.register_buffer("zeros", torch.zeros(d_model), persistent=False)

    def forward(self, length: int, offset: int = 0) -> Float[Tensor, "L D"]:
        return self.get_buffer("zeros").expand(length, -1)


@final
class SinusoidalPositions(Positions):
    """Fixed sinusoids; any length, though nothing promises that a model generalises to lengths it never saw."""

    READY = 1024  # rows computed in advance; longer sequences compute theirs when they come

    def __init__(self, d_model: int, layout: Layout) -> None:
        super().__init__()
        self.d_model = d_model
        self.layout: Layout = layout
        self.register_buffer("table", sinusoids(self.READY, d_model, layout), persistent=False)

    def forward(self, length: int, offset: int = 0) -> Float[Tensor, "L D"]:
        table = self.get_buffer("table")
        if offset + length > self.READY:
            return sinusoids(length, self.d_model, self.layout, first=offset).to(table)
        return table[offset : offset + length]


@final
class LearnedPositions(Positions):
    """A trained row for each position below `max_positions`, and none beyond. [Vaswani 2017, Table 3, row E]"""

    def __init__(self, d_model: int, max_positions: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.weight, std=0.02)

    @property
    def longest(self) -> int | None:
        return len(self.weight)

    def forward(self, length: int, offset: int = 0) -> Float[Tensor, "L D"]:
        """Return the rows of positions offset to offset + length - 1. Raises ValueError beyond `max_positions`."""
        if offset + length > len(self.weight):
            raise ValueError(
                f"A sequence of {offset + length} tokens is longer than the {len(self.weight)} learned positions "
                "(`model.max_positions`)."
            )
        return self.weight[offset : offset + length]
