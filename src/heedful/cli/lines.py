"""Reading text line by line from files and standard input, so that line n in is line n out whatever the bytes are."""

import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from heedful.errors import HeedfulError


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, or of standard input for "-", ended by LF or CRLF only.

    Bytes that are not UTF-8 become U+FFFD, with a warning that names the line, so that no line is lost.
    """
    try:
        file = sys.stdin.buffer if str(path) == "-" else path.open("rb")
    except FileNotFoundError:
        raise HeedfulError(f"There is no file {path}.", hint="Use - for standard input.") from None
    except IsADirectoryError:
        raise HeedfulError(f"{path} is a directory.", hint="Name a text file, or - for standard input.") from None
    with file:
        for number, raw in enumerate(file, start=1):
            line = raw.rstrip(b"\n").removesuffix(b"\r")
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                typer.echo(
                    f"warning: {path}:{number} is not UTF-8 at byte {error.start + 1}; replaced by U+FFFD", err=True
                )
                yield line.decode("utf-8", errors="replace")
