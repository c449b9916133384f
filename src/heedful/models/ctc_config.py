"""Settings of connectionist temporal classification. Knows no torch."""

from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from heedful.models.config import Count, EncoderOnlyConfig, Labels, Probability, check_directions

Number = TypeVar("Number", int, NDArray[np.integer])


class CTCConfig(EncoderOnlyConfig):
    """Recurrent layers that read both ways, and at each position a symbol of the target or a blank. [Graves 2006]

    The positions follow the source: one a token, or a frame of speech; `stride` makes them fewer, `upsample` more. A
    target needs a position for each symbol, and one more between two equal ones.
    """

    task: ClassVar[str] = "ctc"
    labels: ClassVar[Labels | None] = None

    kind: Literal["ctc"] = "ctc"  # pyright: ignore[reportIncompatibleVariableOverride]
    d_model: Count = Field(default=128, description="width of what the first layer reads at each position")
    d_hidden: Count = Field(default=128, description="width of the states; each of two directions has half of it")
    cell: Literal["gru", "lstm"] = Field(default="gru", description="of the recurrent layers")
    n_layers: Count = Field(default=2, description="recurrent layers")
    frame_width: Count | None = Field(
        default=None, description="numbers of a frame, where the source is speech; left out: the source is symbols"
    )
    stride: Count = Field(default=1, description="so many neighbouring frames or tokens are stacked to one position")
    upsample: Count = Field(default=1, description="positions made of each frame or token, where targets are longer")
    band_shift: Annotated[int, Field(ge=0)] = Field(
        default=0, description="speech, training only: each utterance's bands are moved by up to so many, as by a voice"
    )
    loss: Literal["ctc", "equal-split"] = Field(
        default="ctc", description="equal-split: the symbols share the positions equally, in order; a baseline"
    )
    drop_impossible: bool = Field(
        default=False, description="leave out, and count, training pairs with too few positions; else they are an error"
    )
    dropout: Probability = Field(default=0.2, description="on what each layer reads, and on what predicts")

    @model_validator(mode="after")
    def _parts_fit(self) -> "CTCConfig":
        check_directions(self.d_hidden)
        if self.stride > 1 and self.upsample > 1:
            raise ValueError("`stride` makes positions fewer and `upsample` more: one of them must be 1")
        if self.band_shift and self.band_shift >= (self.frame_width or 0):
            raise ValueError(f"`band_shift` must be less than `frame_width`, but is {self.band_shift}")
        return self

    @property
    def summary(self) -> str:
        """The cell, the loss, and what a position is."""
        positions = f"stride {self.stride}" if self.upsample == 1 else f"upsample {self.upsample}"
        return f"{self.loss} on {self.cell} cells, {positions}"

    def output_lengths(self, n_source: Number) -> Number:
        """Return T, the output positions of a source of so many tokens (for speech: numbers), EOS left out."""
        return -(-(n_source // (self.frame_width or 1)) // self.stride) * self.upsample

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 6 vectors of d_hidden a position and layer, 4 of d_model, and the table of
        the loss.
        """
        return self.output_lengths(source) * (6 * self.n_layers * self.d_hidden + 4 * self.d_model + 4 * target)
