"""Where an error is: those of the library count lines and pairs, and here they get the names of their files.

Knows no verb.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heedful.errors import HeedfulError


@contextmanager
def named_after(*files: Path) -> Iterator[None]:
    """Let an error that speaks of "Line 3" name its file and line, and one of "Pair 3" both files, or its table."""
    try:
        yield
    except HeedfulError as error:
        raise type(error)(_named(error.message, files), hint=error.hint) from error


def _named(message: str, files: tuple[Path, ...]) -> str:
    if (pair := re.match(r"Pair (\d+)\b", message)) is not None:
        line = f":{pair[1]}" if len(files) > 1 else ""  # the pairs of a table need not be its lines
        return f"{' and '.join(f'{file}{line}' for file in files)}: {message}"
    return re.sub(r"\b[Ll]ine (\d+)\b", lambda line: f"{files[0]}:{line[1]}", message, count=1)
