"""The whole configuration of one run: a recipe. Each section is defined beside the code that reads it."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from heedful.config import Config, Layer, ResolvedConfig, Tree, parse_overrides, read_toml, resolve
from heedful.data.config import DataConfig
from heedful.decoding.config import AnySearch, BeamSearch, carried_over, upgraded
from heedful.errors import ConfigError
from heedful.evaluation.config import EvaluationConfig
from heedful.recipe.presets import names as preset_names
from heedful.recipe.presets import preset_layer
from heedful.recipe.tables import KINDS, AnyModelConfig
from heedful.records.run import Run
from heedful.tasks.recipe_rules import RULES
from heedful.text.config import TokenizerConfig
from heedful.training.config import TrainingConfig


class Recipe(Config):
    """Recipe: every setting that decides a run's numbers."""

    preset: str | None = Field(default=None, description="start from this preset: see `heedful config presets`")
    run: str | None = Field(default=None, description="the run directory; left out: runs/<name of the recipe file>")
    seed: Annotated[int, Field(ge=0)] = Field(default=1, description="all randomness comes from it")
    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: AnyModelConfig
    training: TrainingConfig = TrainingConfig()
    search: AnySearch = BeamSearch()
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
        """Refuse a shared matrix of two vocabularies: even if they are of one size, each row would mean two unrelated
        symbols.
        """
        if self.model.tie == "all" and not self.tokenizer.joint:
            raise ValueError(
                '`model.tie` = "all" shares one matrix between source and target, but `tokenizer.joint` is false: '
                'set model.tie = "decoder" or tokenizer.joint = true'
            )
        return self

    @model_validator(mode="after")
    def _suits_the_task(self) -> "Recipe":
        self.model.check_recipe(self.tokenizer, self.training.label_smoothing)
        RULES[self.model.task].check(self)
        return self


def load_recipe(path: Path | str | None = None, overrides: Sequence[str] = ()) -> Recipe:
    """Load a recipe: preset < file < `key=value`, checked as a whole.

    `path` is a recipe file, and None where the overrides name all there is. Relative paths of data begin where the
    caller is. Raises ConfigError, with the file and the line or the override, for whatever is wrong in it.
    """
    return resolve_file(path, overrides).config


def resolve_file(path: Path | str | None, overrides: Sequence[str] = ()) -> ResolvedConfig:
    """Load a recipe as `load_recipe` does, and say where each value comes from."""
    if path is not None and not Path(path).exists() and str(path) in preset_names():
        hint = f"Begin a recipe with it (heedful init --preset {path}), or set preset={path} and your data."
        raise ConfigError(f"{path} is a preset, and no recipe file has this name.", hint=hint)
    layers = [read_toml(Path(path))] if path is not None else []
    layers.append(parse_overrides(overrides))
    return resolve_recipe(layers)


def load_stored(path: Path, overrides: Sequence[str] = ()) -> ResolvedConfig:
    """Read a recipe that this or an earlier version has stored < `key=value`, checked."""
    return resolve_recipe([read_stored(path), parse_overrides(overrides)])


def stored_recipe(folder: Path) -> Recipe:
    """Return the recipe that a run directory was begun with."""
    run = Run.open(folder)
    return of_run(load_stored(run.config_path).config, run)


def read_stored(path: Path) -> Layer:
    """Read a recipe that an earlier version may have stored, in today's form."""
    return upgraded_recipe(read_toml(path))


def upgraded_recipe(layer: Layer) -> Layer:
    """Return a stored recipe in today's form."""
    values = dict(layer.values)
    if "model" in values:
        values["model"] = KINDS.upgraded(values["model"])
    search = values.get("search")
    if isinstance(search, dict) and "method" not in search:
        if not _searches(values.get("model", {})):  # earlier versions let a beam stand there
            search = {key: value for key, value in search.items() if key != "beam"}
        values["search"] = upgraded(search)
    return layer._replace(values=values)


def _searches(model: Tree) -> bool:
    """Return whether a model of these settings searches with beams."""
    task = next((kind.config.task for kind in KINDS if kind.name == model.get("kind")), None)
    return task is None or RULES[task].searches


def of_run(recipe: Recipe, run: Run) -> Recipe:
    """Return a recipe whose data are also looked for where the run was begun, so that it can go on
    from another folder.
    """
    begun_in = run.begun_in
    return recipe if begun_in is None else recipe.model_copy(update={"data": recipe.data.begun_in(begun_in)})


def resolve_recipe(layers: Sequence[Layer]) -> ResolvedConfig:
    """Check the layers as a Recipe, on top of the preset that the last of them names."""
    named = [layer.values["preset"] for layer in layers if "preset" in layer.values]
    if named and not isinstance(named[-1], str):
        raise ConfigError(f"`preset` is a name, but is {named[-1]!r}.")
    base = [preset_layer(named[-1])] if named else []
    return resolve(Recipe, _by_one_method([*base, *layers]))


def _by_one_method(layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers without the search settings that have no effect, since a layer above chose another method."""
    found: list[Layer] = []
    below: Tree = {}
    for layer in layers:
        changes = layer.values.get("search")
        if isinstance(changes, dict):
            kept = carried_over(below, changes)
            found = [_without_search(one, below.keys() - kept.keys()) for one in found]
            if kept.get("method") != below.get("method"):
                changes = {"method": kept["method"], **changes}
                layer = layer._replace(values={**layer.values, "search": changes})
            below = {**kept, **changes}
        found.append(layer)
    return found


def _without_search(layer: Layer, keys: Collection[str]) -> Layer:
    """Return a layer without these keys of its table of search."""
    search = layer.values.get("search")
    if not keys or not isinstance(search, dict):
        return layer
    search = {key: value for key, value in search.items() if key not in keys}
    return layer._replace(values={**layer.values, "search": search})
