"""Whether the files of an export are still those that were written. Knows nothing of what is in them."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from heedful.config import read_toml
from heedful.errors import HeedfulError

UNSEALED = frozenset({"export.toml", "parity.json", "recipe.toml"})  # the seal, what comes after it, and settings
HINT = "Copy the whole folder again, or export the model once more."


def seal_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file, by its path within the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: _digest(path) for name, path in names.items() if name not in UNSEALED}


def check_seal(folder: Path, files: Mapping[str, str]) -> None:
    """Raises HeedfulError that names the first file which is missing or is not as it was written.

    `recipe.toml` may be edited, for the settings of search stand there; it must still have them.
    """
    for name, digest in files.items():
        path = folder / name
        if not path.is_file():
            raise HeedfulError(f"{path} is missing.", hint=HINT)
        if _digest(path) != digest:
            raise HeedfulError(f"{path} is damaged, or of another export.", hint=HINT)
    recipe = folder / "recipe.toml"
    tables = read_toml(recipe).values.keys() if recipe.is_file() else ()
    for table in ("model", "search"):
        if table not in tables:
            what = f"has no [{table}]" if recipe.is_file() else "is missing"
            raise HeedfulError(f"{recipe} {what}.", hint=HINT)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
