"""From a folder to a translator: the Python way in."""

from pathlib import Path

from heedful.config import read_toml, resolve
from heedful.decoding.translator import Translator
from heedful.errors import HeedfulError
from heedful.models.bundle import is_bundle, load_bundle
from heedful.models.device import DeviceName, choose_device
from heedful.recipe.recipe import Recipe


def bundle_folder(path: Path) -> Path:
    """The bundle that a path names: itself, or that of a run directory. Raises HeedfulError with the way out."""
    if not path.exists():
        raise HeedfulError(f"There is no {path}.", hint="Name a run directory or the `model` folder of one.")
    if is_bundle(path):
        return path
    if is_bundle(path / "model"):
        return path / "model"
    if (path / "config.resolved.toml").is_file():
        raise HeedfulError(
            f"The run {path} has no model yet.",
            hint=f"Finish it with: heedful train --resume {path}, or `heedful average {path}`.",
        )
    raise HeedfulError(
        f"{path} is neither a bundle nor a run directory.", hint="A bundle holds bundle.toml and model.safetensors."
    )


def load(path: str | Path, device: DeviceName = "auto") -> Translator:
    """A translator from a bundle or a run directory, with the search settings it was evaluated with.

    "auto" takes a GPU where there is one. It has `translate(lines)`, `score(sources, targets)` and `trace(source)`.
    """
    bundle = load_bundle(bundle_folder(Path(path)))
    return Translator(bundle.model.to(choose_device(device)), bundle.tokenizers, recipe_of(path).search)


def recipe_of(path: str | Path) -> Recipe:
    """The recipe that a bundle, or the bundle of a run directory, was made with."""
    return resolve(Recipe, [read_toml(bundle_folder(Path(path)) / "recipe.toml")]).config
