"""Settings of the tagger. Knows no torch."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, EncoderOnlyConfig, Labels, Probability, check_heads
from heedful.sections import only_with

_RECURRENT = ("gru", "lstm")


class TaggerConfig(EncoderOnlyConfig):
    """One label for each word, from an encoder of the whole sentence.

    `encoder` has no default: "gru" and "lstm" read in order, "transformer" is that of [Vaswani 2017], pre-norm; "none"
    learns what each word is by itself.
    """

    labels: ClassVar[Labels | None] = "word"

    kind: Literal["tagger"] = "tagger"  # pyright: ignore[reportIncompatibleVariableOverride]
    encoder: Literal["none", "gru", "lstm", "transformer"] = Field(
        description="gru | lstm | transformer; none: each word by itself"
    )
    d_model: Count = Field(default=128, description="width of embeddings, and of a Transformer encoder")
    d_hidden: Count = Field(
        default=128,
        description="gru, lstm: width of the states; two directions have half each",
        json_schema_extra=only_with({"encoder": ("gru", "lstm")}),
    )
    n_layers: Count = Field(
        default=1,
        description="layers of the encoder",
        json_schema_extra=only_with({"encoder": ("gru", "lstm", "transformer")}),
    )
    bidirectional: bool = Field(
        default=True,
        description="gru, lstm: read in both directions",
        json_schema_extra=only_with({"encoder": ("gru", "lstm")}),
    )
    n_heads: Count = Field(
        default=4,
        description="transformer: attention heads; d_ff is 4 d_model",
        json_schema_extra=only_with({"encoder": ("transformer",)}),
    )
    layer_mix: bool = Field(
        default=False,
        description="read a learned mix of all layers, not the last one",
        json_schema_extra=only_with({"encoder": ("gru", "lstm", "transformer")}),
    )
    dropout: Probability = Field(default=0.3, description="on embeddings, between layers, and before the output")

    @model_validator(mode="after")
    def _widths_fit(self) -> "TaggerConfig":
        if self.encoder == "transformer":
            check_heads(self.d_model, self.n_heads)
        if self.encoder in _RECURRENT and self.bidirectional and self.d_hidden % 2:
            raise ValueError(f"`d_hidden` must be even where `bidirectional` is true, but is {self.d_hidden}")
        if self.layer_mix and self.n_layers == 1:
            raise ValueError("`layer_mix` needs two layers or more, but `n_layers` is 1")
        return self

    @property
    def summary(self) -> str:
        """The kind, and what reads the sentence."""
        return f"{self.kind}, {self.encoder}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 30 vectors a token and layer, and the score tables of a Transformer."""
        tables = 3 * self.n_heads * source if self.encoder == "transformer" else 0
        return self.n_layers * source * (30 * max(self.d_model, self.d_hidden) + tables)
