"""The lock of a folder: one process at a time writes it, and a process that dies gives it back.

Knows nothing of what is in the folder.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import final

from heedful.errors import HeedfulError
from heedful.records.files import explained

LOCK = ".lock"
PATIENCE = 0.05  # seconds between two tries


@final
class FolderLock:
    """A lock that its holder may take again, as often as it then gives it back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor: int | None = None
        self._depth = 0

    @property
    def held(self) -> bool:
        """True while this object holds the lock."""
        return self._depth > 0

    def acquire(self, wait: float = 0.0) -> None:
        """Take the lock. Raises HeedfulError that names its holder, after so many seconds of waiting."""
        if self._descriptor is None:
            self._descriptor = self._locked(time.monotonic() + wait)
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())
        self._depth += 1

    def release(self) -> None:
        """Give it back; a folder that holds nothing but the lock's file is left empty."""
        self._depth -= 1
        if self._depth == 0 and self._descriptor is not None:
            with suppress(OSError):  # somebody has removed the folder
                if [path.name for path in self.folder.iterdir()] == [LOCK]:
                    (self.folder / LOCK).unlink()
            os.close(self._descriptor)
            self._descriptor = None

    def _locked(self, deadline: float) -> int:
        path = self.folder / LOCK
        while True:
            with explained(self.folder):
                lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(lock, 32).decode("ascii", "replace").strip() or "unknown"
                os.close(lock)
                if time.monotonic() >= deadline:
                    raise HeedfulError(
                        f"The run {self.folder} is in use by process {holder}.",
                        hint="Wait for it, or choose another `run` directory.",
                    ) from None
                time.sleep(PATIENCE)
                continue
            if _is_still(path, lock):
                return lock
            os.close(lock)  # its last holder removed it meanwhile


def _is_still(path: Path, descriptor: int) -> bool:
    """Return whether an open file is still the one of its name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
