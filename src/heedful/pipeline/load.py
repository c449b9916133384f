"""From a folder to a translator: the Python way in."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from heedful.config import read_toml, resolve
from heedful.decoding.ensemble import Ensemble, Mean
from heedful.decoding.shortlist import load_shortlist
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError, HeedfulError
from heedful.export.targets import is_export
from heedful.models.bundle import is_bundle, load_bundle
from heedful.models.device import choose_device
from heedful.models.device_name import DeviceName
from heedful.models.interface import Seq2Seq
from heedful.recipe.recipe import Recipe, of_run
from heedful.recipe.tables import KINDS
from heedful.records.run import Run, is_run
from heedful.text.tokenizer import Tokenizers


def bundle_folder(path: Path) -> Path:
    """The bundle that a path names: itself, or that of a run directory.

    Raises ConfigError where it names neither, and HeedfulError where the run has no bundle yet.
    """
    if not path.exists():
        raise ConfigError(f"There is no {path}.", hint="Name a run directory or the `model` folder of one.")
    if is_bundle(path):
        return path
    if is_bundle(path / "model"):
        return path / "model"
    if is_export(path):
        hint = "Name the bundle or the run that it was made from."
        raise ConfigError(f"{path} is an export, and here a bundle is wanted.", hint=hint)
    if (path / "config.resolved.toml").is_file():
        raise HeedfulError(
            f"The run {path} has no model yet.",
            hint=f"Finish it with: heedful train --resume {path}, or `heedful average {path}`.",
        )
    raise ConfigError(
        f"{path} is neither a bundle nor a run directory.", hint="A bundle holds bundle.toml and model.safetensors."
    )


def load(path: str | Path, device: DeviceName = "auto") -> Translator:
    """A translator from a bundle or a run directory, with the search settings it was evaluated with.

    `device` is "auto" (a GPU where there is one), "cpu", "cuda", or "cuda:1" for the second GPU. A translator has
    `translate(lines)`, `score(sources, targets)` and `trace(source)`.
    """
    folder = bundle_folder(Path(path))
    bundle = load_bundle(folder, KINDS)
    shortlist = load_shortlist(folder, bundle.tokenizers)
    return Translator(bundle.model.to(choose_device(device)), bundle.tokenizers, _made_with(folder).search, shortlist)


def load_ensemble(path: Path, others: Sequence[Path], mean: str | None = None) -> Translator:
    """A bundle and others that answer as one, with the search settings and the shortlist of the first.

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
    models = [one.model for one in (first, *rest)]
    decoding = [model for model in models if isinstance(model, Seq2Seq)]
    if len(decoding) < len(models):
        raise ConfigError(
            "An ensemble is of models with a decoder; one of these answers at once.", hint="Leave it out."
        )
    model = Ensemble(decoding, cast(Mean, mean or "arithmetic"))
    return Translator(model, first.tokenizers, first.search, first.shortlist)


def recipe_of(path: str | Path) -> Recipe:
    """The recipe that a bundle, or the bundle of a run directory, was made with."""
    recipe, run = _made_with(bundle_folder(Path(path))), run_around(Path(path))
    return recipe if run is None else of_run(recipe, run)


def _made_with(bundle: Path) -> Recipe:
    return resolve(Recipe, [read_toml(bundle / "recipe.toml")]).config


def run_around(model: Path) -> Run | None:
    """The run that keeps a model: the folder itself, or the one around its bundle; None where there is none."""
    folder = next((folder for folder in (model, model.resolve().parent) if is_run(folder)), None)
    return None if folder is None else Run.open(folder)
