"""Files that are written whole or not at all.

Knows nothing of what is in them.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from heedful.errors import CannotWrite


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


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, whole or not at all."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by UTF-8 text, whole or not at all; line ends stay as given."""
    write_bytes(path, text.encode("utf-8"))


def own_name(path: Path, suffix: str) -> Path:
    """Where this process makes what will become `path`: hidden beside it."""
    return path.with_name(f".{path.name}.{os.getpid()}.{suffix}")


def remove_abandoned(path: Path, suffix: str) -> None:
    """Remove what processes that were killed left under their `own_name` of `path`; those that run keep theirs."""
    named = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.{re.escape(suffix)}")
    try:
        beside = list(path.parent.iterdir())
    except OSError:  # no such folder, or none that can be read: nothing was left there
        return
    for left in beside:
        if (found := named.fullmatch(left.name)) and not _runs(int(found[1])):
            with suppress(OSError):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True
