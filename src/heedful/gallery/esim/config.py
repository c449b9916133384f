"""Settings of inference by soft alignment. Knows no torch."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, EncoderOnlyConfig, Labels, Probability, check_directions


class InferenceConfig(EncoderOnlyConfig):
    """One label for a premise and a hypothesis. [Chen 2017]

    Without `align_both_ways` neither side sees the other before both are vectors: what the alignment is measured
    against.
    """

    labels: ClassVar[Labels | None] = "source"

    kind: Literal["inference"] = "inference"  # pyright: ignore[reportIncompatibleVariableOverride]
    align_both_ways: bool = Field(default=True, description="each word also sees what it is aligned to")
    d_model: Count = Field(default=100, description="width of the embeddings")
    d_hidden: Count = Field(default=100, description="width of the states of both layers, half for each direction")
    dropout: Probability = Field(default=0.1, description="on embeddings, before the second layer and the output")

    @model_validator(mode="after")
    def _directions_fit(self) -> "InferenceConfig":
        check_directions(self.d_hidden)
        return self

    @property
    def reads_parts(self) -> bool:
        """A premise and a hypothesis."""
        return True

    @property
    def summary(self) -> str:
        """The kind, and whether there is an alignment."""
        return f"{self.kind}, {'aligned both ways' if self.align_both_ways else 'without alignment'}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 30 vectors of states a word, those of embeddings, and the tables of the
        alignment.
        """
        return source * (30 * self.d_hidden + 3 * self.d_model + 3 * source)
