"""Settings of the recurrent models. Knows no torch."""

from typing import Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, ModelConfig, Probability, Tie
from heedful.sections import only_with


class RNNConfig(ModelConfig):
    """A recurrent encoder and decoder, with or without attention. [Sutskever 2014; Cho 2014; Bahdanau 2015; Luong 2015]

    `attention` has no default: "none" reads the source through one vector, "bahdanau" asks with the state before the
    step, "luong" with the one after it. Only "luong" has a `score`, a `window` and `input_feeding`.
    """

    kind: Literal["rnn"] = "rnn"  # pyright: ignore[reportIncompatibleVariableOverride]
    d_model: Count = Field(default=256, description="width of embeddings, and of what predicts the next token")
    d_hidden: Count = Field(default=256, description="width of the states; two directions have half of it each")
    cell: Literal["gru", "lstm"] = Field(default="gru", description="of both sides")
    n_encoder_layers: Count = 1
    n_decoder_layers: Count = 1
    bidirectional: bool = Field(default=True, description="read the source in both directions")
    attention: Literal["none", "bahdanau", "luong"] = Field(description="how each step reads the source")
    feedback: bool = Field(
        default=True,
        description="false, without attention only: the last word is not fed back",
        json_schema_extra=only_with({"attention": ("none",)}),
    )
    score: Literal["dot", "general", "concat", "location"] | None = Field(
        default=None, description="of luong; left out: general", json_schema_extra=only_with({"attention": ("luong",)})
    )
    window: Literal["local-m", "local-p"] | None = Field(
        default=None,
        description="of luong: read around the step's own position, or a predicted one; left out: all",
        json_schema_extra=only_with({"attention": ("luong",)}),
    )
    window_radius: Count = Field(
        default=10,
        description="D, of both windows: 2 D + 1 tokens",
        json_schema_extra=only_with({"window": ("local-m", "local-p")}),
    )
    input_feeding: bool = Field(
        default=False,
        description="luong: a step also sees the vector that predicted last",
        json_schema_extra=only_with({"attention": ("luong",)}),
    )
    max_positions: Count = Field(
        default=1024,
        description='score = "location": the longest sequence',
        json_schema_extra=only_with({"score": ("location",)}),
    )
    tie: Tie = Field(default="decoder", description="all: source, target and output share one matrix")
    dropout: Probability = Field(default=0.2, description="on embeddings, between layers, and on what predicts")

    @model_validator(mode="after")
    def _parts_fit(self) -> "RNNConfig":
        if self.bidirectional and self.d_hidden % 2:
            raise ValueError(f"`d_hidden` must be even where `bidirectional` is true, but is {self.d_hidden}")
        return self

    @property
    def longest(self) -> int | None:
        """The longest sequence that the score can read; None for any."""
        return self.max_positions if self.score == "location" else None

    @property
    def luong_score(self) -> Literal["dot", "general", "concat", "location"]:
        """The score of "luong": "general" where none is named."""
        return self.score or "general"

    @property
    def summary(self) -> str:
        """The cell, and how it attends."""
        return f"{self.kind} of {self.cell} cells, attention {self.attention}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 6 vectors of d_hidden a token and layer, and the tables of attention where
        there is any.
        """
        width = 6 * self.d_hidden
        layers = self.n_encoder_layers * source + self.n_decoder_layers * target
        scored = self.attention == "bahdanau" or self.score == "concat"
        tables = target * source * (4 + 2 * self.d_hidden * scored) if self.attention != "none" else 0
        return layers * width + (source + target) * 6 * self.d_model + tables
