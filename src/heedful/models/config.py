"""Settings of the models."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from heedful.config import Config

Count = Annotated[int, Field(gt=0)]
Probability = Annotated[float, Field(ge=0, lt=1)]


class ModelConfig(Config):
    """The Transformer of [Vaswani 2017, section 3], with every point at which good codebases differ named.

    `norm` and `activation` have no default: the paper's are "post" and "relu".
    """

    kind: Literal["transformer"] = "transformer"
    d_model: Count = Field(default=512, description="width of every layer")
    n_heads: Count = Field(default=8, description="attention heads; must divide d_model unless d_k is given")
    d_k: Count | None = Field(
        default=None, description="width of a head's queries and keys; left out: d_model / n_heads"
    )
    d_v: Count | None = Field(default=None, description="width of a head's values; left out: d_model / n_heads")
    d_ff: Count = Field(default=2048, description="inner width of the feed-forward sublayer")
    n_encoder_layers: Count = 6
    n_decoder_layers: Count = 6
    norm: Literal["post", "pre"] = Field(
        description="post: LN(x + f(x)), the paper's; pre: x + f(LN(x)), with a final norm"
    )
    activation: Literal["relu", "gelu", "swish"] = Field(
        description="of the feed-forward sublayer; the paper's is relu"
    )
    norm_epsilon: Annotated[float, Field(gt=0)] = 1e-5
    attention_bias: bool = Field(default=False, description="biases in the attention projections; the paper has none")
    positions: Literal["sinusoidal", "t2t", "learned"] = Field(
        default="sinusoidal", description="sinusoidal: interleaved as in the paper; t2t: [sin | cos]"
    )
    max_positions: Count = Field(default=1024, description="learned positions: the longest sequence")
    scale_embedding: bool = Field(default=True, description="multiply embeddings by sqrt(d_model)")
    tie: Literal["none", "decoder", "all"] = Field(
        default="all", description="all: source, target and output share one matrix; decoder: target and output do"
    )
    output_bias: bool = Field(default=False, description="a bias on the logits; imported models have one")
    dropout: Probability = Field(default=0.1, description="on each sublayer's output, and on embedding + position")
    attention_dropout: Probability = Field(default=0.0, description="on attention weights; the paper has none")
    ffn_dropout: Probability = Field(default=0.0, description="inside the feed-forward sublayer; the paper has none")

    @model_validator(mode="after")
    def _heads_fit(self) -> "ModelConfig":
        if (self.d_k is None or self.d_v is None) and self.d_model % self.n_heads:
            raise ValueError(f"`n_heads` must divide `d_model` ({self.d_model}), but is {self.n_heads}")
        return self

    @property
    def head_key_width(self) -> int:
        """E, the width of one head's queries and keys."""
        return self.d_k or self.d_model // self.n_heads

    @property
    def head_value_width(self) -> int:
        """The width of one head's values."""
        return self.d_v or self.d_model // self.n_heads
