"""The kinds of models: the settings of each, and where its network is defined. Knows no torch.

The core's kinds are here; `heedful.recipe.tables` joins those of the gallery.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Union, final

from pydantic import Field, Tag, create_model

from heedful.config import Config, Layer, Tree, resolve
from heedful.models.classifier_config import ClassifierConfig
from heedful.models.config import ConvS2SConfig, ModelConfig, RNNConfig, TransformerConfig
from heedful.models.ctc_config import CTCConfig
from heedful.models.tagger_config import TaggerConfig
from heedful.sections import by_kind

if TYPE_CHECKING:
    from heedful.models.interface import Model


class Kind(NamedTuple):
    """A kind of model: the class of its settings, and "module:name" of what builds its network, imported when
    one is built."""

    config: type[ModelConfig]
    network: str

    @property
    def name(self) -> str:
        """What `model.kind` calls it."""
        return self.config.model_fields["kind"].default


@final
class Kinds:
    """A table of kinds; the first is the one of a `model` table that names none."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = tuple(kinds)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds)

    @property
    def annotation(self) -> Any:
        """The type of a `model` table: the settings of any of these kinds, told apart by `kind`."""
        tagged = tuple(Annotated[kind.config, Tag(kind.name)] for kind in self._kinds)
        return Annotated[Union[tagged], by_kind(self._kinds[0].name)]  # noqa: UP007  (made of a tuple)

    def config_of(self, recipe: Tree, origin: str) -> ModelConfig:
        """Read the `model` table of a recipe, and no other. Raises ConfigError where it does not hold."""
        field = (self.annotation, Field(description="the table [model]"))
        holder = create_model("ModelTable", __base__=Config, model=field)
        return resolve(holder, [Layer(origin, {"model": recipe.get("model", {})})]).config.model

    def build(self, config: ModelConfig, source_size: int, target_size: int) -> "Model":
        """Build a freshly initialised model for vocabularies of these sizes; torch's global generator decides its
        weights. Raises TypeError for settings of a kind that is not in the table.
        """
        for kind in self._kinds:
            if type(config) is kind.config:
                module, _, name = kind.network.partition(":")
                return getattr(import_module(module), name)(config, source_size, target_size)
        raise TypeError(f"`config` must be that of a known kind, but is of {config.kind!r}.")


CORE_KINDS = Kinds(
    [
        Kind(TransformerConfig, "heedful.models.transformer:Transformer"),
        Kind(RNNConfig, "heedful.models.rnn:RNN"),
        Kind(ConvS2SConfig, "heedful.models.convs2s:ConvS2S"),
        Kind(TaggerConfig, "heedful.models.tagger:Tagger"),
        Kind(CTCConfig, "heedful.models.ctc:CTC"),
        Kind(ClassifierConfig, "heedful.models.classifier:build_classifier"),
    ]
)


def build_model(config: ModelConfig, source_size: int, target_size: int) -> "Model":
    """Build a model of one of the core's kinds, as `Kinds.build` does."""
    return CORE_KINDS.build(config, source_size, target_size)
