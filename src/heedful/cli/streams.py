"""Standard output of all verbs: UTF-8 and LF whatever the terminal's settings are, and JSON that every reader takes.

Knows no verb.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import typer

from heedful.errors import HeedfulError
from heedful.records.files import to_json
from heedful.text.output_files import writing

STANDARD_OUTPUT = "-"


def prepare_streams() -> None:
    """Write UTF-8 to standard output and standard error, and let no file take the place of a closed stream.

    The bytes of a file's name that are no UTF-8 go out as they are. A message never fails for what it names.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError as error:
            if error.errno == errno.EBADF:  # or the next file that is opened would get its number, and what is printed
                os.open(os.devnull, os.O_RDWR)
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")


def require_standard_output() -> None:
    """Raise HeedfulError where standard output is closed: results would be lost without a word."""
    if sys.stdout is None:
        hint = "Send it to a file (> FILE), or away (> /dev/null)."
        raise HeedfulError("Standard output is closed, so the result has nowhere to go.", hint=hint)


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as strict JSON, on one line if no `indent` is given; see `to_json`."""
    typer.echo(to_json(value, indent))


@contextmanager
def result_sink(output: Path | None) -> Iterator[BinaryIO]:
    """Open where the lines of a result go: standard output, or a file that somebody named, whole or not at all."""
    if output is None or str(output) == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with writing(output) as sink:
        yield sink
