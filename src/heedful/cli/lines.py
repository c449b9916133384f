"""Reading text line by line from files and standard input, so that line n in is line n out whatever the bytes are."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import typer

from heedful.data.lines import UTF8_MARK
from heedful.errors import ConfigError, HeedfulError


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file (unpacked if it ends in .gz), or of standard input for "-", ended by LF or CRLF only.

    A byte order mark at the start is left out. Bytes that are not UTF-8 become U+FFFD, with a warning that names the
    line, so that no line is lost.
    """
    try:
        file = sys.stdin.buffer if str(path) == "-" else _open(path)
    except FileNotFoundError:
        raise ConfigError(f"There is no file {path}.", hint="Use - for standard input.") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a directory.", hint="Name a text file, or - for standard input.") from None
    with file:
        for number, raw in enumerate(_raw_lines(file, path), start=1):
            line = raw.rstrip(b"\n").removesuffix(b"\r")
            if number == 1:
                line = line.removeprefix(UTF8_MARK)
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                typer.echo(
                    f"warning: {path}:{number} is not UTF-8 at byte {error.start + 1}; replaced by U+FFFD", err=True
                )
                yield line.decode("utf-8", errors="replace")


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _raw_lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    try:
        yield from file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        hint = "Copy or download it again; if it is plain text, take .gz off its name."
        raise HeedfulError(f"{path} cannot be unpacked: {str(error).rstrip('.')}.", hint=hint) from None
