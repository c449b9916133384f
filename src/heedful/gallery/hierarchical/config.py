"""Settings of hierarchical attention over words and sentences. Knows no torch."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, EncoderOnlyConfig, Labels, Probability, check_directions
from heedful.sections import only_with


class HierarchicalConfig(EncoderOnlyConfig):
    """One label for a document of sentences. [Yang 2016]

    `reading` has no default. "hierarchical" reads words, then sentences; "flat-attention" and "flat-mean" are what it
    is measured against: one recurrent network over all words, of which one attention or the mean makes the vector.
    """

    labels: ClassVar[Labels | None] = "source"

    kind: Literal["hierarchical"] = "hierarchical"  # pyright: ignore[reportIncompatibleVariableOverride]
    reading: Literal["hierarchical", "flat-attention", "flat-mean"] = Field(
        description="hierarchical | flat-attention | flat-mean"
    )
    query: Literal["constant", "first"] = Field(
        default="constant",
        description="what weighs sentences: constant, the paper's learned one; first: the document's first sentence",
        json_schema_extra=only_with({"reading": ("hierarchical",)}),
    )
    d_model: Count = Field(default=64, description="width of the embeddings")
    d_hidden: Count = Field(default=100, description="width of the states of words and of sentences, half a direction")
    d_attention: Count = Field(
        default=100,
        description="width in which words and sentences are compared to the query",
        json_schema_extra=only_with({"reading": ("hierarchical", "flat-attention")}),
    )
    dropout: Probability = Field(
        default=0.1, description="on embeddings, and on the vectors of sentences and documents"
    )

    @model_validator(mode="after")
    def _parts_fit(self) -> "HierarchicalConfig":
        check_directions(self.d_hidden)
        return self

    @property
    def reads_parts(self) -> bool:
        """Sentences, but where all words are read as one."""
        return self.reading == "hierarchical"

    @property
    def summary(self) -> str:
        """The kind, and how it reads."""
        return f"{self.kind}, reading {self.reading}, query {self.query}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 8 vectors of states a word, and those of embeddings and attention."""
        return source * (8 * self.d_hidden + 3 * self.d_model + 3 * self.d_attention)
