"""Settings of coupled multi-layer attention. Knows no torch."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from heedful.models.config import Count, EncoderOnlyConfig, Labels, Probability


class CoupledConfig(EncoderOnlyConfig):
    """Tags of aspect and opinion words by two heads that read the sentence with each other's help. [Wang 2017]

    Without `coupled`, each head knows its own prototype only: what the coupling is measured against. `penalty` weighs
    |A A^T - I|^2 of the two heads' weights, which is [Lin 2017]'s and no part of the paper.
    """

    labels: ClassVar[Labels | None] = "word"

    kind: Literal["coupled"] = "coupled"  # pyright: ignore[reportIncompatibleVariableOverride]
    coupled: bool = Field(default=True, description="each head also reads with the other one's prototype")
    context: Literal["gru", "window"] = Field(
        default="gru", description="what a word's vector knows: all words, by a GRU in both directions; its neighbours"
    )
    d_model: Count = Field(default=100, description="width of the embeddings")
    d_hidden: Count = Field(default=50, description="width of a word's vector and of the prototypes")
    n_forms: Count = Field(default=20, description="K bilinear forms of each head, for either prototype")
    n_layers: Count = Field(default=2, description="how often both prototypes are brought up to date")
    label_heads: Literal["one", "two"] = Field(
        default="two",
        description="two: a softmax for each head's tags, B-, I- of two kinds; one: of all tags, reading both heads",
    )
    penalty: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="of heads that read the same words; 0: none"
    )
    dropout: Probability = Field(default=0.3, description="on embeddings, on words' vectors, and before the output")

    @model_validator(mode="after")
    def _directions_fit(self) -> "CoupledConfig":
        if self.context == "gru" and self.d_hidden % 2:
            raise ValueError(f'`d_hidden` must be even where `context` = "gru", but is {self.d_hidden}')
        return self

    @property
    def summary(self) -> str:
        """The kind, and whether its heads know of each other."""
        coupled = "" if self.coupled else ", uncoupled"
        return f"{self.kind}, {self.n_layers} layers{coupled}, context {self.context}, label heads {self.label_heads}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 12 vectors of states a word, and in each layer 20 of 2 K numbers for each
        head.
        """
        return source * (12 * self.d_hidden + 3 * self.d_model + self.n_layers * 80 * self.n_forms)
