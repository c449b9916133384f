"""Settings of the pooling classifier: what reads the words, and what makes one vector of them. Knows no torch."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, EncoderOnlyConfig, Labels, Probability
from heedful.sections import only_with

ASKING = ("attention", "hard")  # the poolings with one query
LAYERED = ("rnn", "transformer")  # the encoders with layers to mix


Weight = Annotated[float, Field(ge=0)]


class PoolingConfig(EncoderOnlyConfig):
    """One label for a whole source: an encoder of its words, a pooling, and a hidden layer.
    [Lin 2017; Shen 2018; Xu 2015; Yang 2016]

    Settings that name an encoder or a pooling are of that one alone.
    """

    labels: ClassVar[Labels | None] = "source"

    kind: Literal["pooling-classifier"] = "pooling-classifier"  # pyright: ignore[reportIncompatibleVariableOverride]
    encoder: Literal["none", "rnn", "transformer", "disan", "disan-scalar"] = Field(
        description="none: embeddings; rnn: both directions; disan: feature-wise self-attention, forward and backward"
    )
    pooling: Literal[
        "mean", "max", "last", "attention", "structured", "source2token", "hard", "keywords", "first-n", "random-n"
    ] = Field(description="what makes one vector of all words; hard: of one of them")
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
        json_schema_extra=only_with({"encoder": ("rnn", "transformer")}),
    )
    n_heads: Count = Field(
        default=4,
        description="transformer: attention heads; d_ff is 4 d_model, norms are pre",
        json_schema_extra=only_with({"encoder": ("transformer",)}),
    )
    layer_mix: bool = Field(default=False, description="rnn, transformer: a learned mix of all layers, not the last")
    max_scores: Count = Field(
        default=50_000_000,
        description="disan: the most numbers B S^2 d_model of a batch; more are refused",
        json_schema_extra=only_with({"encoder": ("disan", "disan-scalar")}),
    )
    d_attention: Count = Field(
        default=64,
        description="structured, attention, hard, keywords: inner width, d_a",
        json_schema_extra=only_with({"pooling": ("structured", "attention", "hard", "keywords")}),
    )
    rows: Count = Field(
        default=8,
        description="structured: rows r of weights",
        json_schema_extra=only_with({"pooling": ("structured",)}),
    )
    overlap_weight: Weight = Field(
        default=0.0,
        description="structured: what the penalty |A A^T - I|^2 counts",
        json_schema_extra=only_with({"pooling": ("structured",)}),
    )
    query: Literal["constant", "first"] = Field(
        default="constant",
        description="attention, hard: what asks; first: the encoding of the first token",
        json_schema_extra=only_with({"pooling": ("attention", "hard")}),
    )
    reads: Literal["encoded", "embedded"] = Field(
        default="encoded",
        description="attention, hard: what is weighed; embedded: the words without their context",
        json_schema_extra=only_with({"pooling": ("attention", "hard")}),
    )
    n_words: Count = Field(
        default=5,
        description="keywords, first-n, random-n: how many words are read",
        json_schema_extra=only_with({"pooling": ("keywords", "first-n", "random-n")}),
    )
    test_policy: Literal["argmax", "expected"] = Field(
        default="argmax",
        description="hard: what is read outside training: the likeliest place, or the expected value",
        json_schema_extra=only_with({"pooling": ("hard",)}),
    )
    expected_share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.5,
        description="hard: share of training sentences that read the expected value, not a draw",
        json_schema_extra=only_with({"pooling": ("hard",)}),
    )
    entropy_weight: Weight = Field(
        default=0.002,
        description="hard: what the entropy of the draws counts",
        json_schema_extra=only_with({"pooling": ("hard",)}),
    )
    reward_baseline: bool = Field(
        default=True,
        description="hard: less variance by a running mean of the reward",
        json_schema_extra=only_with({"pooling": ("hard",)}),
    )
    dropout: Probability = Field(default=0.2, description="on embeddings, between layers, and around the hidden layer")

    @model_validator(mode="after")
    def _parts_fit(self) -> "PoolingConfig":
        if self.encoder == "rnn" and self.d_hidden % 2:
            raise ValueError(f"`d_hidden` must be even, half for each direction, but is {self.d_hidden}")
        if self.encoder == "transformer" and self.d_model % self.n_heads:
            raise ValueError(f"`n_heads` must divide `d_model` ({self.d_model}), but is {self.n_heads}")
        if self.layer_mix and (self.encoder not in LAYERED or self.n_layers == 1):
            raise ValueError(
                f'`layer_mix` needs `encoder` = "rnn" or "transformer" with two layers or more, but that is '
                f'"{self.encoder}" with `n_layers` = {self.n_layers}'
            )
        return self

    @property
    def summary(self) -> str:
        """The kind, its encoder and its pooling; of a sampled one what it does outside training."""
        policy = f" ({self.test_policy} outside training)" if self.pooling == "hard" else ""
        return f"{self.kind}, encoder {self.encoder}, pooling {self.pooling}{policy}"

    def activation_count(self, source: int, target: int) -> int:
        """About 10 vectors a token, 30 more a layer, and the tables of scores."""
        layered = self.encoder in LAYERED
        vectors = (10 + 30 * self.n_layers * layered) * max(self.d_model, self.d_hidden)
        tables = {"transformer": 3 * self.n_heads * self.n_layers, "disan": 10 * self.d_model}
        return source * (vectors + source * tables.get(self.encoder.removesuffix("-scalar"), 0))
