"""What each task refuses in a recipe, and how it describes its search in a signature. Imports no torch."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, final, runtime_checkable

from heedful.data.config import DataConfig
from heedful.decoding.config import SearchConfig, unused_without_decoder, with_changes
from heedful.models.config import ModelConfig
from heedful.models.ctc_config import CTCConfig
from heedful.text.config import TokenizerConfig
from heedful.training.config import TrainingConfig

ONE_PASS = "one-pass"  # the most probable label at each position
NGRAM_METRICS = ("bleu", "multi-bleu")


@runtime_checkable
class EvaluationSection(Protocol):
    """Part of a recipe's `evaluation` table that a task checks."""

    @property
    def metrics(self) -> Sequence[str]:
        """Names of metrics."""
        ...


@runtime_checkable
class RecipeSections(Protocol):
    """The tables of a recipe that a task looks at."""

    @property
    def model(self) -> ModelConfig:
        """The table `model`."""
        ...

    @property
    def tokenizer(self) -> TokenizerConfig:
        """The table `tokenizer`."""
        ...

    @property
    def training(self) -> TrainingConfig:
        """The table `training`."""
        ...

    @property
    def search(self) -> SearchConfig:
        """The table `search`."""
        ...

    @property
    def data(self) -> DataConfig:
        """The table `data`."""
        ...

    @property
    def evaluation(self) -> EvaluationSection:
        """The table `evaluation`."""
        ...


class TaskRules(ABC):
    """Conditions that a recipe for one task must satisfy."""

    @property
    @abstractmethod
    def searches(self) -> bool:
        """True where outputs are found by beam search."""

    @abstractmethod
    def check(self, recipe: RecipeSections) -> None:
        """Raise ValueError for settings that the task cannot have."""

    @abstractmethod
    def validation_search(self, search: SearchConfig, beam: int) -> SearchConfig:
        """Return how validations find outputs: by beam search with so many beams, where anything is searched."""

    @abstractmethod
    def describe(self, search: SearchConfig, model: ModelConfig) -> str:
        """Describe how outputs are found, in one word for signatures."""


@final
class SequenceRules(TaskRules):
    """Tokens one after another, by a decoder."""

    @property
    def searches(self) -> bool:
        return True

    def check(self, recipe: RecipeSections) -> None:
        check_recordings(recipe)

    def validation_search(self, search: SearchConfig, beam: int) -> SearchConfig:
        return with_changes(search, {"method": "beam", "beam": beam})

    def describe(self, search: SearchConfig, model: ModelConfig) -> str:
        return search.describe()


class EncoderOnlyRules(TaskRules):
    """No decoder: nothing is searched but what `searched` names, and no output is read back."""

    searched: tuple[str, ...] = ()

    @property
    def searches(self) -> bool:
        return "beam" in self.searched

    def check(self, recipe: RecipeSections) -> None:
        kind = recipe.model.kind
        training = {"scheduled_sampling": recipe.training.scheduled_sampling is not None}
        training["positions"] = recipe.training.positions == "one"
        unused = [f"search.{name}" for name in unused_without_decoder(recipe.search, self.searched)]
        unused += [f"training.{name}" for name, set_ in training.items() if set_]
        if unused:
            raise ValueError(
                f'`{unused[0]}` needs a decoder, but `model.kind` = "{kind}" is encoder-only: leave it out'
            )
        check_recordings(recipe)

    def validation_search(self, search: SearchConfig, beam: int) -> SearchConfig:
        return with_changes(search, {"beam": beam}) if self.searches else search

    def describe(self, search: SearchConfig, model: ModelConfig) -> str:
        settings: dict[str, Any] = {name: getattr(search, name) for name in self.searched}
        if search.precision != "float32":
            settings["precision"] = search.precision
        return ",".join(f"{name}={settings[name]}" for name in sorted(settings)) or ONE_PASS


@final
class LabelRules(EncoderOnlyRules):
    """A label for the whole source, or at each position of it."""

    def check(self, recipe: RecipeSections) -> None:
        super().check(recipe)
        model, tokenizer = recipe.model, recipe.tokenizer
        if model.reads_parts and tokenizer.source.separator is None:
            raise ValueError(
                f'`model.kind` = "{model.kind}" reads sources in parts: set `tokenizer.source.separator`, such as '
                '"|||", with tokenizer.source.kind = "words"'
            )
        ngrams = [name for name in recipe.evaluation.metrics if name in NGRAM_METRICS]
        if model.labels == "source" and ngrams:
            raise ValueError(
                f"`evaluation.metrics` holds {ngrams[0]}, which counts n-grams of 4 words and is 0 where a target "
                f'is one label, as for `model.kind` = "{model.kind}": choose accuracy or exact'
            )
        target = (tokenizer.target or tokenizer.source).kind
        if not model.one_vocabulary and (tokenizer.joint or target != "words"):
            joint = tokenizer.joint
            wrong, way_out = ("joint` is true", "false") if joint else (f'target.kind` is "{target}"', '"words"')
            raise ValueError(
                f'`model.kind` = "{model.kind}" predicts labels, which are words of their own, but '
                f"`tokenizer.{wrong}: set it to {way_out}"
            )


@final
class CTCRules(EncoderOnlyRules):
    """Symbols in the order of the source, with blanks between them."""

    searched = ("beam",)

    def check(self, recipe: RecipeSections) -> None:
        super().check(recipe)
        model, source = recipe.model, recipe.tokenizer.source
        assert isinstance(model, CTCConfig), "the only kind of this task"
        if recipe.training.label_smoothing:
            raise ValueError(
                "`training.label_smoothing` is of a distribution over labels at each position, and CTC has no label "
                "for a position: set it to 0"
            )
        if source.kind == "speech" and model.frame_width != source.frame_width:
            raise ValueError(
                f"`model.frame_width` must be `tokenizer.source.frame_width` ({source.frame_width}), but is "
                f"{model.frame_width}"
            )
        if model.frame_width is not None and source.kind != "speech":
            raise ValueError(
                f'`model.frame_width` needs `tokenizer.source.kind` = "speech", but that is "{source.kind}"'
            )

    def describe(self, search: SearchConfig, model: ModelConfig) -> str:
        if isinstance(model, CTCConfig) and model.loss == "ctc":
            return super().describe(search, model)
        return LabelRules().describe(search, model)


def check_recordings(recipe: RecipeSections) -> None:
    """Raise ValueError where recordings may be longer than what is searched at once."""
    longest, searched = recipe.data.max_length, recipe.search.max_source
    if recipe.tokenizer.source.kind == "speech" and searched < longest:
        raise ValueError(
            f"`search.max_source` ({searched}) must be at least `data.max_length` ({longest}): a recording cannot be "
            "split at sentence ends"
        )


RULES: dict[str, TaskRules] = {"sequence": SequenceRules(), "labels": LabelRules(), "ctc": CTCRules()}
