"""The kinds of models: the settings of each, and where its network is defined. Knows no torch.

The core's kinds are here; `heedful.recipe.tables` joins those of the gallery.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, Union, final

from pydantic import Field, Tag, create_model

from heedful.config import Config, Layer, Tree, resolve
from heedful.models.classifier_config import ClassifierConfig
from heedful.models.config import ModelConfig
from heedful.models.convs2s_config import ConvS2SConfig
from heedful.models.ctc_config import CTCConfig
from heedful.models.rnn_config import RNNConfig
from heedful.models.tagger_config import TaggerConfig
from heedful.models.transformer_config import TransformerConfig
from heedful.sections import by_kind

if TYPE_CHECKING:
    from heedful.models.interface import Model

T = TypeVar("T")


class ModelKind(NamedTuple):
    """A kind of model: the class of its settings, "module:name" of what builds its network, imported when one is
    built; the kind of which it was a part in earlier versions, and weights that had other names there.
    """

    config: type[ModelConfig]
    network: str
    formerly: str | None = None
    renamed: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """Value of `model.kind`."""
        return self.config.model_fields["kind"].default


@final
class Kinds:
    """A table of kinds; the first is the one of a `model` table that names none."""

    def __init__(self, kinds: Sequence[ModelKind]) -> None:
        self._kinds = tuple(kinds)

    def __iter__(self) -> Iterator[ModelKind]:
        return iter(self._kinds)

    @property
    def annotation(self) -> Any:
        """The type of a `model` table: the settings of any of these kinds, told apart by `kind`."""
        tagged = tuple(Annotated[kind.config, Tag(kind.name)] for kind in self._kinds)
        return Annotated[Union[tagged], by_kind(self._kinds[0].name)]  # noqa: UP007  (made of a tuple)

    def upgraded(self, table: Any) -> Any:
        """Return a stored `model` table in today's form: one with settings that its kind has no more, and another kind
        took over, is of that other.
        """
        if not isinstance(table, dict):
            return table
        own = {name for kind in self._kinds if kind.name == table.get("kind") for name in kind.config.model_fields}
        for kind in self._kinds:
            if kind.formerly == table.get("kind") and (table.keys() - own) & kind.config.model_fields.keys():
                return {**table, "kind": kind.name}
        return table

    def config_of(self, recipe: Tree, origin: str) -> ModelConfig:
        """Read the `model` table of a stored recipe, and no other. Raises ConfigError where it does not hold."""
        field = (self.annotation, Field(description="the table [model]"))
        holder = create_model("ModelTable", __base__=Config, model=field)
        return resolve(holder, [Layer(origin, {"model": self.upgraded(recipe.get("model", {}))})]).config.model

    def with_names_of_today(self, config: ModelConfig, weights: Mapping[str, T]) -> dict[str, T]:
        """Return weights, or what is known of each, under the names that a model of these settings has for them."""
        renamed = self._of(config).renamed
        return {renamed.get(name, name): value for name, value in weights.items()}

    def build(self, config: ModelConfig, source_size: int, target_size: int) -> "Model":
        """Build a freshly initialised model for vocabularies of these sizes; torch's global generator decides its
        weights. Raises TypeError for settings of a kind that is not in the table.
        """
        module, _, name = self._of(config).network.partition(":")
        return getattr(import_module(module), name)(config, source_size, target_size)

    def _of(self, config: ModelConfig) -> ModelKind:
        for kind in self._kinds:
            if type(config) is kind.config:
                return kind
        raise TypeError(f"`config` must be that of a known kind, but is of {config.kind!r}.")


CORE_KINDS = Kinds(
    [
        ModelKind(TransformerConfig, "heedful.models.transformer:Transformer"),
        ModelKind(RNNConfig, "heedful.models.rnn:RNN"),
        ModelKind(ConvS2SConfig, "heedful.models.convs2s:ConvS2S"),
        ModelKind(TaggerConfig, "heedful.models.tagger:Tagger"),
        ModelKind(CTCConfig, "heedful.models.ctc:CTC"),
        ModelKind(ClassifierConfig, "heedful.models.classifier:build_classifier"),
    ]
)


def build_model(config: ModelConfig, source_size: int, target_size: int) -> "Model":
    """Build a model of one of the core's kinds, as `Kinds.build` does."""
    return CORE_KINDS.build(config, source_size, target_size)
