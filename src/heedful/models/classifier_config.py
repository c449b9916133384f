"""Settings of the classifiers. Knows no torch."""

from abc import ABC
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, EncoderOnlyConfig, Labels, Probability, check_directions, check_heads
from heedful.sections import only_with

LAYERED = ("rnn", "transformer")  # the encoders with layers to mix


class SourceClassifierConfig(EncoderOnlyConfig, ABC):
    """Settings of every classifier that encodes the words of a source and pools them into one vector."""

    labels: ClassVar[Labels | None] = "source"

    encoder: str = Field(description="what makes a vector of each word")
    pooling: str = Field(description="what makes one vector of them all")
    d_model: Count = Field(default=64, description="width of embeddings, of most encoders, and of the hidden layer")
    d_hidden: Count = Field(
        default=64,
        description="rnn: width of the states; each direction has half of it",
        json_schema_extra=only_with({"encoder": ("rnn",)}),
    )
    cell: Literal["gru", "lstm"] = Field(
        default="lstm", description="rnn: gru | lstm", json_schema_extra=only_with({"encoder": ("rnn",)})
    )
    n_layers: Count = Field(
        default=1,
        description="rnn, transformer: layers",
        json_schema_extra=only_with({"encoder": LAYERED}),
    )
    n_heads: Count = Field(
        default=4,
        description="transformer: attention heads; d_ff is 4 d_model, norms are pre",
        json_schema_extra=only_with({"encoder": ("transformer",)}),
    )
    layer_mix: bool = Field(
        default=False,
        description="rnn, transformer: a learned mix of all layers, not the last",
        json_schema_extra=only_with({"encoder": LAYERED}),
    )
    dropout: Probability = Field(default=0.2, description="on embeddings, between layers, and around the hidden layer")

    @model_validator(mode="after")
    def _parts_fit(self) -> "SourceClassifierConfig":
        if self.encoder == "rnn":
            check_directions(self.d_hidden)
        if self.encoder == "transformer":
            check_heads(self.d_model, self.n_heads)
        if self.layer_mix and self.n_layers == 1:
            raise ValueError("`layer_mix` needs two layers or more, but `n_layers` is 1")
        return self

    @property
    def summary(self) -> str:
        """The kind, its encoder and its pooling."""
        return f"{self.kind}, encoder {self.encoder}, pooling {self.pooling}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 10 vectors a token, 30 more a layer, and the tables of scores."""
        vectors = (10 + 30 * self.n_layers * (self.encoder in LAYERED)) * max(self.d_model, self.d_hidden)
        tables = 3 * self.n_heads * self.n_layers if self.encoder == "transformer" else 0
        return source * (vectors + source * tables)


class ClassifierConfig(SourceClassifierConfig):
    """One label for a whole source: an encoder of its words, a pooling, and a hidden layer. [Kim 2014]

    Attention as a pooling, and DiSAN's encoder, are those of `kind` = "pooling-classifier".
    """

    kind: Literal["classifier"] = "classifier"  # pyright: ignore[reportIncompatibleVariableOverride]
    encoder: Literal["none", "rnn", "transformer"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        description="none: embeddings; rnn: both directions; transformer: pre-norm"
    )
    pooling: Literal["mean", "max", "last"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        description="what makes one vector of all words"
    )
