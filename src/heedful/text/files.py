"""Files that are written whole or not at all.

Knows nothing of what is in them.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from heedful.errors import HeedfulError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for bytes that takes the place of `path` when the block ends without an error.

    Until then `path` is as it was; after an error it still is, and the new file is gone.
    Raises HeedfulError where the system refuses: no space, no permission, no such folder.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
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
            raise cannot_write(path, error) from error
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, whole or not at all."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by UTF-8 text, whole or not at all; line ends stay as given."""
    write_bytes(path, text.encode("utf-8"))


def cannot_write(path: Path, error: OSError) -> HeedfulError:
    """What the system said, as an error for the user."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "Free some space on that disk and run the command again; nothing was overwritten." if full else None
    return HeedfulError(f"Cannot write {path}: {error.strerror or error}.", hint=hint)
