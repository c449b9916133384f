"""The whole configuration of one run: a recipe. Each section is defined beside the code that reads it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from heedful.config import Config, Layer, Resolved, parse_overrides, read_toml, resolve
from heedful.data.config import DataConfig
from heedful.decoding.config import SearchConfig, settings_of_decoders
from heedful.errors import ConfigError
from heedful.evaluation.config import EvaluationConfig
from heedful.models.config import EncoderOnlyConfig
from heedful.models.ctc_config import CTCConfig
from heedful.recipe.presets import names as preset_names
from heedful.recipe.presets import preset_layer
from heedful.recipe.tables import AnyModelConfig
from heedful.records.run import Run
from heedful.text.config import TokenizerConfig
from heedful.training.config import TrainingConfig


class Recipe(Config):
    """Everything that decides a run's numbers."""

    preset: str | None = Field(default=None, description="start from this preset: see `heedful config presets`")
    run: str | None = Field(default=None, description="the run directory; left out: runs/<name of the recipe file>")
    seed: Annotated[int, Field(ge=0)] = Field(default=1, description="all randomness comes from it")
    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: AnyModelConfig
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _selects_what_is_measured(self) -> "Recipe":
        measured = ["loss", *(self.evaluation.metrics if self.evaluation.dev_sentences else ())]
        if self.training.select not in measured:
            wanted = f"must be one of {', '.join(measured)}, or be added to `evaluation.metrics`"
            raise ValueError(f"`training.select` {wanted}, but is {self.training.select!r}")
        return self

    @model_validator(mode="after")
    def _ties_what_is_joint(self) -> "Recipe":
        """Two vocabularies of one size would share a matrix in which each row means two unrelated symbols."""
        if self.model.tie == "all" and not self.tokenizer.joint:
            raise ValueError(
                '`model.tie` = "all" shares one matrix between source and target, but `tokenizer.joint` is false: '
                'set model.tie = "decoder" or tokenizer.joint = true'
            )
        return self

    @model_validator(mode="after")
    def _answers_with_words_of_the_source(self) -> "Recipe":
        if not self.model.one_vocabulary:
            return self
        if not self.tokenizer.joint or self.tokenizer.source.kind != "words":
            raise ValueError(
                f'`model.kind` = "{self.model.kind}" answers with a word of the source, so both sides need one '
                'vocabulary of words: set tokenizer.joint = true and tokenizer.source.kind = "words"'
            )
        if self.training.label_smoothing:
            raise ValueError(
                "`training.label_smoothing` gives probability to every word, but a word that the source lacks can have "
                f'none with model.kind = "{self.model.kind}": set it to 0'
            )
        return self

    @model_validator(mode="after")
    def _parts_are_told_apart(self) -> "Recipe":
        if self.model.reads_parts and self.tokenizer.source.separator is None:
            raise ValueError(
                f'`model.kind` = "{self.model.kind}" reads sources in parts: set `tokenizer.source.separator`, such as '
                '"|||", with tokenizer.source.kind = "words"'
            )
        return self

    @model_validator(mode="after")
    def _nothing_needs_a_missing_decoder(self) -> "Recipe":
        """A model that answers at once never reads what it has written, and searches nothing."""
        if not isinstance(self.model, EncoderOnlyConfig):
            return self
        decoding = [f"search.{name}" for name in settings_of_decoders(self.search)]
        reading = {
            "scheduled_sampling": self.training.scheduled_sampling,
            "positions": self.training.positions == "one",
        }
        decoding += [f"training.{name}" for name, asked in reading.items() if asked]
        if decoding:
            raise ValueError(
                f'`{decoding[0]}` is of models with a decoder, but `model.kind` = "{self.model.kind}" answers at once: '
                "leave it out"
            )
        return self

    @model_validator(mode="after")
    def _labels_are_words_of_their_own(self) -> "Recipe":
        """In one vocabulary with the sources, each of their words would be an answer that can be given."""
        if not isinstance(self.model, EncoderOnlyConfig) or self.model.labels is None or self.model.one_vocabulary:
            return self
        kind = (self.tokenizer.target or self.tokenizer.source).kind
        if self.tokenizer.joint or kind != "words":
            wrong, way_out = (
                ("joint` is true", "false") if self.tokenizer.joint else (f'target.kind` is "{kind}"', '"words"')
            )
            raise ValueError(
                f'`model.kind` = "{self.model.kind}" answers with labels, which are words of their own, but '
                f"`tokenizer.{wrong}: set it to {way_out}"
            )
        return self

    @model_validator(mode="after")
    def _smoothing_has_a_distribution(self) -> "Recipe":
        if isinstance(self.model, CTCConfig) and self.training.label_smoothing:
            raise ValueError(
                "`training.label_smoothing` is of a distribution over labels at each place, and CTC has no label for a "
                "place: set it to 0"
            )
        return self

    @model_validator(mode="after")
    def _speech_is_read_as_frames(self) -> "Recipe":
        source, speech = self.tokenizer.source, self.tokenizer.source.kind == "speech"
        width = self.model.frame_width if isinstance(self.model, CTCConfig) else None
        if speech and isinstance(self.model, CTCConfig) and width != source.frame_width:
            raise ValueError(
                f"`model.frame_width` must be `tokenizer.source.frame_width` ({source.frame_width}), but is {width}"
            )
        if width is not None and not speech:
            raise ValueError(
                f'`model.frame_width` needs `tokenizer.source.kind` = "speech", but that is "{source.kind}"'
            )
        if speech and self.search.max_source < self.data.max_length:
            raise ValueError(
                f"`search.max_source` ({self.search.max_source}) must be at least `data.max_length` "
                f"({self.data.max_length}): a recording cannot be split at sentence ends"
            )
        return self


def load_recipe(path: Path | None, overrides: Sequence[str] = ()) -> Resolved:
    """Preset < file < `key=value`, checked. The preset may be named by either; relative data paths begin where
    the caller is.
    """
    if path is not None and not path.exists() and str(path) in preset_names():
        hint = f"Begin a recipe with it (heedful init --preset {path}), or set preset={path} and your data."
        raise ConfigError(f"{path} is a preset, and no recipe file has this name.", hint=hint)
    layers = [read_toml(path)] if path is not None else []
    layers.append(parse_overrides(overrides))
    return resolve_recipe(layers)


def stored_recipe(folder: Path) -> Recipe:
    """The recipe that a run directory was begun with."""
    return of_run(resolve_recipe([read_toml(folder / "config.resolved.toml")]).config, Run(folder))


def of_run(recipe: Recipe, run: Run) -> Recipe:
    """A recipe whose data are also found where the run was begun, so that it need not go on in the same folder."""
    begun_in = run.begun_in
    return recipe if begun_in is None else recipe.model_copy(update={"data": recipe.data.begun_in(begun_in)})


def resolve_recipe(layers: Sequence[Layer]) -> Resolved:
    """Check the layers as a Recipe, on top of the preset that the last of them names."""
    named = [layer.values["preset"] for layer in layers if "preset" in layer.values]
    if named and not isinstance(named[-1], str):
        raise ConfigError(f"`preset` is a name, but is {named[-1]!r}.")
    base = [preset_layer(named[-1])] if named else []
    return resolve(Recipe, [*base, *layers])
