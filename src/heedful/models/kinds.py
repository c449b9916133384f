"""Which kinds of models there are: the table `model` of a recipe, in all its forms. Knows no torch."""

from typing import Annotated

from pydantic import Field, Tag

from heedful.config import Config, Layer, Tree, resolve
from heedful.models.classifier_config import ClassifierConfig
from heedful.models.config import ConvS2SConfig, ModelConfig, RNNConfig, TransformerConfig
from heedful.models.coupled_config import CoupledConfig
from heedful.models.ctc_config import CTCConfig
from heedful.models.esim_config import InferenceConfig
from heedful.models.hierarchical_config import HierarchicalConfig
from heedful.models.reading_config import MemoryConfig, ReaderConfig
from heedful.models.tagger_config import TaggerConfig
from heedful.sections import by_kind

AnyModelConfig = Annotated[
    Annotated[TransformerConfig, Tag("transformer")]
    | Annotated[RNNConfig, Tag("rnn")]
    | Annotated[ConvS2SConfig, Tag("convs2s")]
    | Annotated[TaggerConfig, Tag("tagger")]
    | Annotated[CTCConfig, Tag("ctc")]
    | Annotated[ClassifierConfig, Tag("classifier")]
    | Annotated[HierarchicalConfig, Tag("hierarchical")]
    | Annotated[InferenceConfig, Tag("inference")]
    | Annotated[CoupledConfig, Tag("coupled")]
    | Annotated[ReaderConfig, Tag("reader")]
    | Annotated[MemoryConfig, Tag("memory")],
    by_kind("transformer"),
]


class _Held(Config):
    """What of a recipe is about its model."""

    model: AnyModelConfig = Field(description="the table [model]")


def model_config_of(recipe: Tree, origin: str) -> ModelConfig:
    """The `model` table of a recipe that is otherwise left unread. Raises ConfigError where it does not hold."""
    return resolve(_Held, [Layer(origin, {"model": recipe.get("model", {})})]).config.model
