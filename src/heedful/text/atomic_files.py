"""Files and folders that are written whole or not at all, and removed at once.

Each is made under a hidden name beside its place, and renamed into it. Knows nothing of what is in them.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from heedful.errors import CannotWrite

LONGEST_NAME = 255  # bytes, of a file's name on the usual file systems


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for bytes that takes the place of `path` when the block ends without an error.

    Until then `path` is as it was; after an error it still is, and the new file is gone.
    Raises CannotWrite where the system refuses: no space, no permission, no such folder.
    """
    part = own_name(path, "part")
    remove_abandoned(path, "part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            raise CannotWrite(path, error) from error
        raise


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Make an empty folder that takes the place of `path`, and of all that was in it, when the block ends.

    After an error `path` is as it was, and the new folder is gone. Raises CannotWrite where the system refuses.
    """
    partial, former = own_name(path, "partial"), own_name(path, "former")
    try:
        restore_folder(path)
        for suffix in ("partial", "former"):
            remove_abandoned(path, suffix)
        partial.mkdir(parents=True)
        yield partial
        if path.exists():
            path.rename(former)
        partial.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise CannotWrite(path, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if path.exists():
            shutil.rmtree(former, ignore_errors=True)


def restore_folder(path: Path) -> None:
    """Put a folder back into its place that a process was about to replace when it was killed."""
    if not path.exists() and (former := abandoned(path, "former")):
        former[-1].rename(path)


def remove_folder(folder: Path) -> None:
    """Remove a folder at once: it is renamed first, so that a killed process leaves no half of it in its place.

    What is left under the other name goes with the next call for the same place.
    """
    remove_abandoned(folder, "removed")
    aside = own_name(folder, "removed")
    with suppress(FileNotFoundError):
        folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, whole or not at all."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by UTF-8 text, whole or not at all; line ends stay as given."""
    write_bytes(path, text.encode("utf-8"))


def sync_folder(folder: Path) -> None:
    """Have the names in a folder written to the disk, so that a power cut does not undo what was renamed in it."""
    with suppress(OSError):  # some file systems have no such call, and keep their own order
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def own_name(path: Path, suffix: str) -> Path:
    """Return the path at which this process writes what will become `path`: hidden beside it."""
    return path.with_name(f".{_stem(path.name)}.{os.getpid()}.{suffix}")


def with_room(name: str, room: int) -> str:
    """Return a name, or what stands for it where one with so many bytes more would be too long for the file system."""
    if len(os.fsencode(name)) + room <= LONGEST_NAME:
        return name
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:32]


def _stem(name: str) -> str:
    return with_room(name, len("..4194304.removed"))


def remove_abandoned(path: Path, suffix: str) -> None:
    """Remove what processes that were killed left under their `own_name` of `path`; others that run keep theirs."""
    for left in abandoned(path, suffix):
        with suppress(OSError):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def abandoned(path: Path, suffix: str) -> list[Path]:
    """Find what processes that were killed left under their `own_name` of `path`.

    What has this process's own name is of a former one with its number, as is usual in containers.
    """
    named = re.compile(rf"\.{re.escape(_stem(path.name))}\.(\d+)\.{re.escape(suffix)}")
    try:
        beside = sorted(path.parent.iterdir())
    except OSError:  # no such folder, or none that can be read: nothing was left there
        return []
    return [left for left in beside if (found := named.fullmatch(left.name)) and not _runs(int(found[1]))]


def _runs(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True
