"""From a folder to a translator: the Python way in."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from heedful.config import Layer, resolve, to_tree
from heedful.decoding.config import search_of
from heedful.decoding.ensemble import Ensemble, Mean
from heedful.decoding.shortlist import load_shortlist
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError, HeedfulError
from heedful.export.targets import is_export
from heedful.models.bundle import Bundle, is_bundle, load_bundle
from heedful.models.device import choose_device
from heedful.models.device_name import DeviceName
from heedful.models.weights import FILE, load_weights, read_tensors
from heedful.pipeline.prepare import open_prepared
from heedful.recipe.recipe import Recipe, of_run, read_stored, stored_recipe, upgraded_recipe
from heedful.recipe.tables import KINDS, build_model
from heedful.records.run import Run, is_run
from heedful.tasks.table import translator_of
from heedful.text.tokenizer import Tokenizers
from heedful.training.checkpoint import CheckpointFolder


def bundle_folder(path: Path) -> Path:
    """Find the bundle that a path names: itself, or that of a run directory.

    Raises ConfigError where it names neither, and HeedfulError where the run has no bundle yet.
    """
    run_around(path)  # finishes what was put in place by a process that was killed at it
    if not path.exists():
        raise ConfigError(f"There is no {path}.", hint="Name a run directory or the `model` folder of one.")
    if is_bundle(path):
        return path
    if is_bundle(path / "model"):
        return path / "model"
    if is_export(path):
        hint = "`heedful translate` reads it, too; here, name the bundle or the run that it was made from."
        raise ConfigError(f"{path} is an export, for another program, and here a bundle is wanted.", hint=hint)
    if (path / "config.resolved.toml").is_file():
        raise HeedfulError(
            f"The run {path} has no model yet.",
            hint=f"Finish it with: heedful train --resume {path}, or `heedful average {path}`.",
        )
    raise ConfigError(
        f"{path} is neither a bundle nor a run directory.", hint="A bundle holds bundle.toml and model.safetensors."
    )


def load(path: str | Path, device: DeviceName = "auto") -> Translator:
    """Load a translator from a bundle or a run directory, with the search settings it was evaluated with.

    Of a run that is not finished it is the best checkpoint (`remark_on` says so). `device` is "auto" (a GPU where there
    is one), "cpu", "cuda", or "cuda:1" for the second GPU. A translator has `translate(lines)`,
    `score(sources, targets)` and `trace(source)`.
    """
    bundle, best = load_model(Path(path)), best_checkpoint(Path(path))
    shortlist = load_shortlist(bundle_folder(Path(path)), bundle.tokenizers) if best is None else None
    search = search_of(upgraded_recipe(Layer(str(path), bundle.recipe)).values, str(path))
    return translator_of(bundle.model.to(choose_device(device)), bundle.tokenizers, search, shortlist)


def load_model(path: Path) -> Bundle:
    """Load the bundle that a path names, or what will be that of a run with its best checkpoint so far."""
    best = best_checkpoint(path)
    if best is None:
        return load_bundle(bundle_folder(path), KINDS)
    recipe, tokenizers = stored_recipe(path), open_prepared(Run.open(path).data).tokenizers
    model = build_model(recipe.model, len(tokenizers.source), len(tokenizers.target))
    load_weights(model, read_tensors(best / FILE), best)
    return Bundle(model.eval(), tokenizers, to_tree(recipe), recipe.model)


def best_checkpoint(path: Path) -> Path | None:
    """Find the best checkpoint of a run that has no bundle yet; None where there is none, and for no such run."""
    if not is_run(path) or is_bundle(path) or is_bundle(Run.open(path).bundle):
        return None
    return CheckpointFolder(Run.open(path).checkpoints, keep=1).best()


def remark_on(path: Path) -> str | None:
    """Say what a user should know of the model that a path names; None where there is nothing to say."""
    best = best_checkpoint(path)
    if best is None:
        return None
    return f"The run {path} has no finished model: this is its best checkpoint so far, {best.name}."


def load_ensemble(path: Path, others: Sequence[Path], mean: str | None = None) -> Translator:
    """Load a bundle and others as one ensemble, with the search settings and the shortlist of the first.

    `mean` is arithmetic (of probabilities; the default) or geometric (of log-probabilities). Raises ConfigError where a
    bundle has other tokenisers than the first: its ids would mean something else.
    """
    if mean is not None and not others:
        raise ConfigError("--ensemble-mean without --ensemble.", hint="Name the other models by --ensemble MODEL.")
    if mean is not None and mean not in get_args(Mean):
        raise ConfigError(f"The mean {mean} is unknown.", hint=f"It is one of: {', '.join(get_args(Mean))}.")
    first, *rest = [load(one) for one in (path, *others)]
    for name, other in zip(others, rest, strict=True):
        for side, theirs, ours in zip(Tokenizers._fields, other.tokenizers, first.tokenizers, strict=True):
            if theirs.fingerprint != ours.fingerprint:
                hint = "Models share them if they are trained on the same data with the same [tokenizer] table."
                raise ConfigError(f"{name} has another {side} tokenizer than {path}.", hint=hint)
    if not rest:
        return first
    model = Ensemble([one.backend.decoder("An ensemble") for one in (first, *rest)], cast(Mean, mean or "arithmetic"))
    shortlist = load_shortlist(bundle_folder(path), first.tokenizers)
    return translator_of(model, first.tokenizers, first.search, shortlist)


def recipe_of(path: str | Path) -> Recipe:
    """Return the recipe that a bundle, or the bundle of a run directory, was made with."""
    recipe, run = resolve(Recipe, [read_stored(recipe_file(Path(path)))]).config, run_around(Path(path))
    return recipe if run is None else of_run(recipe, run)


def recipe_file(model: Path) -> Path:
    """Find the recipe that an export, a bundle, or the bundle of a run directory was made with."""
    if is_export(model):
        return model / "recipe.toml"
    return bundle_folder(model) / "recipe.toml" if best_checkpoint(model) is None else Run.open(model).config_path


def run_around(model: Path) -> Run | None:
    """Find the run that keeps a model: the folder itself, or the one around its bundle; None where there is none."""
    folder = next((folder for folder in (model, model.resolve().parent) if is_run(folder)), None)
    return None if folder is None else Run.open(folder)
