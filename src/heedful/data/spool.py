"""Inputs that can be read only once (a pipe, `<(...)`, standard input), kept so that they can be read again.

Knows nothing of what is in them.
"""

import os
import shutil
import stat
import sys
from collections.abc import Iterable
from io import BufferedIOBase
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, cast

from heedful.errors import CannotWrite, ConfigError

STANDARD_INPUT = "-"
_kept: dict[str, Any] = {}  # by the name of the input, for as long as the process lives; each removes itself


def is_stream(path: str | Path) -> bool:
    """Return whether this is an input that gives its bytes only once: "-", or what is there and no regular file."""
    if str(path) == STANDARD_INPUT:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # there is none of this name, or nothing can have it
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def refuse_streams(paths: Iterable[str | Path]) -> None:
    """Raise ConfigError for an input of a run that gives its bytes only once: a run reads its data again."""
    for path in paths:
        if is_stream(path):
            message = f"{path} can be read only once, but a run reads its data again: to go on, and to be evaluated."
            raise ConfigError(message, hint="Write it into a file first, and name that.")


def standard_input() -> BufferedIOBase:
    """Return standard input. Raises ConfigError where this process has none."""
    if sys.stdin is None:
        raise ConfigError("Standard input is closed.", hint="Name a file, or pipe the lines in.")
    return cast(BufferedIOBase, sys.stdin.buffer)


def open_again(path: Path) -> BufferedIOBase:
    """Open a file, or an input that gives its bytes once; the latter is copied aside at its first use."""
    if not is_stream(path):
        return path.open("rb")
    name = str(path)
    if name not in _kept:
        copy = NamedTemporaryFile(prefix="heedful-")  # noqa: SIM115 - it lives as long as the process
        try:
            with standard_input() if name == STANDARD_INPUT else path.open("rb") as source:
                shutil.copyfileobj(source, copy)
            copy.flush()
        except OSError as refusal:
            raise CannotWrite(copy.name, refusal) from refusal
        _kept[name] = copy
    return Path(_kept[name].name).open("rb")
