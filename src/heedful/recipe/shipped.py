"""The recipes that come with heedful: their names, and their texts with all comments.

Knows nothing of what a recipe means.
"""

import difflib
import shlex
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import heedful
from heedful.errors import ConfigError, HeedfulError

SUFFIX = ".toml"
FOLDER = "recipes"  # in a wheel inside this package, in a clone at its root


def names() -> list[str]:
    """Return the names of all recipes. Raises HeedfulError where the installation lacks them."""
    folder = _folder()
    if not folder.is_dir():
        raise HeedfulError("This installation of heedful lacks its recipes.", hint="Install heedful again.")
    return sorted(entry.name.removesuffix(SUFFIX) for entry in folder.iterdir() if entry.name.endswith(SUFFIX))


def recipe_text(name: str, output: Path) -> str:
    """Return the text of a recipe whose comments call it by the file that it is written to.

    Raises ConfigError, with all names and the nearest one, where there is none of this name.
    """
    known = names()
    if name not in known:
        near = difflib.get_close_matches(Path(name).stem, known, n=1)
        hint = " ".join([*(f"Did you mean `{one}`?" for one in near), f"There are: {', '.join(known)}."])
        raise ConfigError(f"No recipe `{name}` comes with heedful.", hint=hint)
    text = _folder().joinpath(f"{name}{SUFFIX}").read_text("utf-8")
    return text.replace(f"{FOLDER}/{name}{SUFFIX}", shlex.quote(str(output)))


def _folder() -> Traversable:
    packed = files("heedful.recipe").joinpath(FOLDER)
    return packed if packed.is_dir() else Path(str(heedful.__file__)).resolve().parents[2] / FOLDER
