"""Settings of the convolutional model. Knows no torch."""

from typing import Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, ModelConfig, Probability, Tie


class ConvS2SConfig(ModelConfig):
    """Convolutions with gates on both sides, and an attention in each layer of the decoder. [Gehring 2017]"""

    kind: Literal["convs2s"] = "convs2s"  # pyright: ignore[reportIncompatibleVariableOverride]
    d_model: Count = Field(default=256, description="width of embeddings, attention, and what predicts the next token")
    d_hidden: Count = Field(default=256, description="channels of the convolutions")
    kernel: Count = Field(default=3, description="width of the convolutions, in tokens; odd")
    n_encoder_layers: Count = 4
    n_decoder_layers: Count = 4
    attention_layers: Literal["all", "top"] = Field(
        default="all", description="decoder layers that attend: all of them, the paper's; or the uppermost alone"
    )
    max_positions: Count = Field(default=1024, description="learned positions: the longest sequence")
    tie: Tie = Field(default="decoder", description="all: source, target and output share one matrix")
    dropout: Probability = Field(default=0.1, description="on embeddings, and on the input of each convolution")

    @model_validator(mode="after")
    def _kernel_is_odd(self) -> "ConvS2SConfig":
        if self.kernel % 2 == 0:
            raise ValueError(f"`kernel` must be odd, so that a token is in the middle, but is {self.kernel}")
        return self

    @property
    def summary(self) -> str:
        """The kind and the width of its convolutions."""
        return f"{self.kind}, kernel {self.kernel}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 8 vectors of d_hidden a token and layer, and in the decoder 6 of d_model and
        3 score tables.
        """
        encoder = self.n_encoder_layers * source * 8 * self.d_hidden
        return encoder + self.n_decoder_layers * target * (8 * self.d_hidden + 6 * self.d_model + 3 * source)
