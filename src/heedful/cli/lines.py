"""Reading text line by line from files and standard input, so that line n in is line n out whatever the bytes are."""

import gzip
import os
import select
import stat
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from itertools import islice
from pathlib import Path

import typer

from heedful.data.lines import UTF8_MARK
from heedful.data.spool import STANDARD_INPUT, is_stream, standard_input
from heedful.errors import ConfigError, HeedfulError

BLOCK = 1 << 16  # bytes that a pipe holds
CHUNK = 1000  # lines


def read_lines(path: Path) -> Iterator[str]:
    """Read the lines of a file (unpacked if it ends in .gz), or of standard input for "-", ended by LF or CRLF only.

    A byte order mark at the start is left out. Bytes that are not UTF-8 become U+FFFD, with a warning that names the
    line, so that no line is lost.
    """
    for chunk in read_chunks(path, CHUNK):
        yield from chunk


def read_chunks(path: Path, most: int) -> Iterator[list[str]]:
    """Read the same lines, up to so many at a time; of a pipe or a terminal, those that have arrived, as soon as they
    do.
    """
    number = 0
    with _open(path) as file:
        for chunk in _raw_chunks(file, path, most):
            lines = [_decoded(raw, f"{path}:{number + place}") for place, raw in enumerate(chunk, start=1)]
            if number == 0 and lines:
                lines[0] = lines[0].removeprefix(UTF8_MARK.decode())
            number += len(lines)
            yield lines


def _decoded(raw: bytes, place: str) -> str:
    line = raw.removesuffix(b"\r")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        typer.echo(f"warning: {place} is not UTF-8 at byte {error.start + 1}; replaced by U+FFFD", err=True)
        return line.decode("utf-8", errors="replace")


def _open(path: Path) -> BufferedIOBase:
    if str(path) == STANDARD_INPUT:
        return standard_input()
    try:
        return gzip.GzipFile(path) if path.suffix == ".gz" else path.open("rb")
    except FileNotFoundError:
        raise ConfigError(f"There is no file {path}.", hint="Use - for standard input.") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a directory.", hint="Name a text file, or - for standard input.") from None


def _raw_chunks(file: BufferedIOBase, path: Path, most: int) -> Iterator[list[bytes]]:
    """Read lines as bytes, without their LF."""
    try:
        if is_stream(path) and path.suffix != ".gz" and (descriptor := _descriptor(file)) is not None:
            yield from _arriving(descriptor, most)
            return
        lines = (raw.removesuffix(b"\n") for raw in file)
        while chunk := list(islice(lines, most)):
            yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        hint = "Copy or download it again; if it is plain text, take .gz off its name."
        raise HeedfulError(f"{path} cannot be unpacked: {str(error).rstrip('.')}.", hint=hint) from None


def _descriptor(file: BufferedIOBase) -> int | None:
    """Return the file descriptor of an input that is no regular file; None where nothing can be waited for."""
    try:
        number = file.fileno()
    except OSError:  # it is in memory
        return None
    return None if stat.S_ISREG(os.fstat(number).st_mode) else number


def _arriving(descriptor: int, most: int) -> Iterator[list[bytes]]:
    """Read the whole lines that have arrived, up to so many, without waiting while there is one; the last may lack its
    LF.
    """
    ready: list[bytes] = []
    begun: list[bytes] = []  # the parts of a line whose end has not arrived
    while block := os.read(descriptor, BLOCK):
        *ended, rest = block.split(b"\n")
        if ended:
            ready += [b"".join([*begun, ended[0]]), *ended[1:]]
            begun = []
        begun.append(rest)
        while ready and (len(ready) >= most or not _has_more(descriptor)):
            yield ready[:most]
            ready = ready[most:]
    last = b"".join(begun)
    ready += [last] if last else []
    while ready:
        yield ready[:most]
        ready = ready[most:]


def _has_more(descriptor: int) -> bool:
    """Return whether reading would give something at once, be it the end."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN | select.POLLHUP)
    return bool(waiting.poll(0))
