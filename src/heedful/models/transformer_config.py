"""Settings of the Transformer. Knows no torch."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, ModelConfig, Probability, Tie, check_heads
from heedful.sections import only_with


class TransformerConfig(ModelConfig):
    """The Transformer of [Vaswani 2017, section 3], with every point at which good codebases differ named.

    `norm` and `activation` have no default: the paper's are "post" and "relu".
    """

    kind: Literal["transformer"] = "transformer"  # pyright: ignore[reportIncompatibleVariableOverride]
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
    positions: Literal["sinusoidal", "t2t", "learned", "relative", "t5", "rotary", "alibi", "none"] = Field(
        default="sinusoidal",
        description="sinusoidal: the paper's; t2t: [sin | cos]; relative, t5, rotary, alibi: distances in attention",
    )
    max_positions: Count = Field(
        default=1024,
        description="learned: the longest sequence",
        json_schema_extra=only_with({"positions": ("learned",)}),
    )
    clip_distance: Count = Field(
        default=16,
        description="relative: k, the distance from which all count as one",
        json_schema_extra=only_with({"positions": ("relative",)}),
    )
    relative_values: bool = Field(
        default=False,
        description="relative: add a vector of each distance to values, too",
        json_schema_extra=only_with({"positions": ("relative",)}),
    )
    n_buckets: Annotated[int, Field(ge=4, multiple_of=2)] = Field(
        default=32, description="t5: buckets of distances", json_schema_extra=only_with({"positions": ("t5",)})
    )
    max_distance: Count = Field(
        default=128,
        description="t5: the distance from which all count as one",
        json_schema_extra=only_with({"positions": ("t5",)}),
    )
    scale_embedding: bool = Field(default=True, description="multiply embeddings by sqrt(d_model)")
    tie: Tie = Field(
        default="all", description="all: source, target and output share one matrix; decoder: target and output do"
    )
    output_bias: bool = Field(default=False, description="a bias on the logits; imported models have one")
    dropout: Probability = Field(default=0.1, description="on each sublayer's output, and on embedding + position")
    attention_dropout: Probability = Field(default=0.0, description="on attention weights; the paper has none")
    ffn_dropout: Probability = Field(default=0.0, description="inside the feed-forward sublayer; the paper has none")
    attention_top_k: Count | None = Field(
        default=None, description="each query of each head reads its k best keys only; left out: all (softmax)"
    )
    attention_window: Count | None = Field(
        default=None, description="r, of the encoder: token i reads token j where |i - j| <= r / 2; left out: all"
    )

    @model_validator(mode="after")
    def _heads_fit(self) -> "TransformerConfig":
        if self.d_k is None or self.d_v is None:
            check_heads(self.d_model, self.n_heads)
        return self

    @model_validator(mode="after")
    def _positions_fit(self) -> "TransformerConfig":
        if self.positions == "rotary" and self.head_key_width % 2:
            raise ValueError(
                f'`positions` = "rotary" turns columns in pairs, so `d_k` must be even, but is {self.head_key_width}'
            )
        if self.max_distance <= self.n_buckets // 2:
            raise ValueError(
                f"`max_distance` must be more than half of `n_buckets` ({self.n_buckets}), but is {self.max_distance}"
            )
        return self

    @property
    def head_key_width(self) -> int:
        """E, the width of one head's queries and keys."""
        return self.d_k or self.d_model // self.n_heads

    @property
    def head_value_width(self) -> int:
        """The width of one head's values."""
        return self.d_v or self.d_model // self.n_heads

    @property
    def encoder_radius(self) -> int | None:
        """Distance that the encoder's self-attention reaches to either side; None for any distance."""
        return None if self.attention_window is None else self.attention_window // 2

    @property
    def summary(self) -> str:
        """The kind, and where its norms stand."""
        return f"{self.kind}, {self.norm}-norm"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 20 vectors of d_model and 3 of d_ff a token and layer, and 3 score tables a
        head (two attentions in a decoder).
        """
        vectors = 20 * self.d_model + 3 * self.d_ff
        encoder = self.n_encoder_layers * source * (vectors + 3 * self.n_heads * source)
        tables = 3 * self.n_heads * (target + source)
        return encoder + self.n_decoder_layers * target * (vectors * 3 // 2 + tables)
