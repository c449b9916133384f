"""Files that somebody named to be written: whole or not at all, where they are, as they are.

A pipe or a device is written in place; a link keeps leading where it led; a file keeps its permissions.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from heedful.errors import CannotWrite
from heedful.text.atomic_files import replacing

OPEN_FILES = ("/dev/fd/", "/dev/std", "/proc/self/fd/")  # names of what this process has open already


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open for bytes what `path` names: see the head of this module. Raises CannotWrite where the system refuses."""
    there = _status(path)
    in_place = there is not None and not (stat.S_ISREG(there.st_mode) or stat.S_ISDIR(there.st_mode))
    if in_place or str(path.absolute()).startswith(OPEN_FILES):
        with _in_place(path) as file:
            yield file
        return
    with replacing(Path(os.path.realpath(path)) if path.is_symlink() else path) as file:
        if there is not None:
            _take_over(file, there)
        yield file


def write_output(path: Path, content: bytes) -> None:
    """Write a whole content by `writing`."""
    with writing(path) as file:
        file.write(content)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:  # it is not there, or writing will say why not
        return None


@contextmanager
def _in_place(path: Path) -> Iterator[BinaryIO]:
    """Append, since a terminal, a pipe and a device have only an end, and the shell may hold the file that is open."""
    try:
        with path.open("ab") as file:
            yield file
    except OSError as error:
        raise CannotWrite(path, error) from error


def _take_over(file: BinaryIO, there: os.stat_result) -> None:
    """Give the new file the owner and the permissions of the one whose place it takes."""
    with suppress(PermissionError):  # it belongs to somebody else: the permissions still count
        os.fchown(file.fileno(), there.st_uid, there.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
