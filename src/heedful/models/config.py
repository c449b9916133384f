"""Settings that all kinds of models have. Knows no torch."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from heedful.config import Config
from heedful.events import Report
from heedful.text.config import TokenizerConfig

if TYPE_CHECKING:
    from heedful.data.store import PairStore

Count = Annotated[int, Field(gt=0)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Tie = Literal["none", "decoder", "all"]
Labels = Literal["word", "source"]


def check_directions(d_hidden: int) -> None:
    """Raise ValueError for a width of states that two directions cannot share equally."""
    if d_hidden % 2:
        raise ValueError(f"`d_hidden` must be even, half for each direction, but is {d_hidden}")


def check_heads(d_model: int, n_heads: int) -> None:
    """Raise ValueError for a width that the heads cannot share equally."""
    if d_model % n_heads:
        raise ValueError(f"`n_heads` must divide `d_model` ({d_model}), but is {n_heads}")


class ModelConfig(Config, ABC):
    """Settings of every model, whatever its `kind`: `d_model`, the width of embeddings and of the vectors that predict;
    `dropout`; and what it may `tie`, with the meaning that `TransformerConfig` gives them.
    """

    task: ClassVar[str] = "sequence"
    """The form of the output: a row of `heedful.tasks.table`."""
    labels: ClassVar[Labels | None] = None
    """What has one label each: a word of the source, or the whole of it; None where targets have any length."""
    one_vocabulary: ClassVar[bool] = False
    """Whether labels are words of the source, so that both sides share one vocabulary."""
    limits: ClassVar[frozenset[str]] = frozenset()
    """Settings that only refuse what is larger: nothing of their size is built."""

    kind: str
    d_model: Count
    dropout: Probability
    tie: Tie

    @property
    @abstractmethod
    def summary(self) -> str:
        """The kind and its main choices, in a few words."""

    def check_recipe(self, tokenizer: TokenizerConfig, label_smoothing: float) -> None:
        """Raise ValueError for settings of other tables that do not go with this model."""

    def check_pairs(self, split: str, store: "PairStore", report: Report) -> None:
        """Report pairs from which the model can learn nothing; raise ConfigError where all are such."""

    @property
    def reads_parts(self) -> bool:
        """True for a model that reads sources in parts, so that a separator must mark them."""
        return False

    @property
    def without_dropout(self) -> "ModelConfig":
        """The same model, without any noise in training."""
        return self.model_copy(update={name: 0.0 for name in type(self).model_fields if name.endswith("dropout")})

    @abstractmethod
    def activation_count(self, source: int, target: int) -> int:
        """Estimate how many numbers the backward pass keeps for a pair with so many tokens."""


class EncoderOnlyConfig(ModelConfig, ABC):
    """Settings of every encoder-only model: `d_model` and `dropout`, as all models have, and one embedding, so that
    there is nothing to tie.
    """

    task: ClassVar[str] = "labels"

    tie: Literal["none"] = Field(default="none", description="there is one embedding only")  # pyright: ignore[reportIncompatibleVariableOverride]
