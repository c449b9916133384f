"""Settings of the pooling classifier: what reads the words, and what makes one vector of them. Knows no torch."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from heedful.models.classifier_config import SourceClassifierConfig
from heedful.models.config import Count
from heedful.sections import only_with

Weight = Annotated[float, Field(ge=0)]


class PoolingConfig(SourceClassifierConfig):
    """One label for a whole source: an encoder of its words, a pooling, and a hidden layer.
    [Lin 2017; Shen 2018; Xu 2015; Yang 2016]

    Settings that name an encoder or a pooling are of that one alone.
    """

    limits: ClassVar[frozenset[str]] = frozenset({"max_scores"})

    kind: Literal["pooling-classifier"] = "pooling-classifier"  # pyright: ignore[reportIncompatibleVariableOverride]
    encoder: Literal["none", "rnn", "transformer", "disan", "disan-scalar"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        description="none: embeddings; rnn: both directions; disan: feature-wise self-attention, forward and backward"
    )
    pooling: Literal[  # pyright: ignore[reportIncompatibleVariableOverride]
        "mean", "max", "last", "attention", "structured", "source2token", "hard", "keywords", "first-n", "random-n"
    ] = Field(description="what makes one vector of all words; hard: of one of them")
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
        description="hard: what is read outside training: the likeliest position, or the expected value",
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

    @property
    def summary(self) -> str:
        """The kind, its encoder and its pooling; of a sampled one what it does outside training."""
        policy = f" ({self.test_policy} outside training)" if self.pooling == "hard" else ""
        return f"{self.kind}, encoder {self.encoder}, pooling {self.pooling}{policy}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations; DiSAN has 10 tables of scores for each feature more."""
        tables = 10 * self.d_model if self.encoder in ("disan", "disan-scalar") else 0
        return super().activation_count(source, target) + source * source * tables
