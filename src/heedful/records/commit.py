"""Several files and folders of one folder, replaced together: all or none, also where the process is killed.

New ones are written into a hidden folder. Renaming that to `.commit` decides, and then each is moved into its place: a
process that is killed before has changed nothing, and for one that is killed after it `finish_commit` moves the rest.
Whoever calls holds the folder's lock. Knows nothing of what is written.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from heedful.errors import HeedfulError
from heedful.records.files import explained
from heedful.text.atomic_files import own_name, remove_abandoned, remove_folder, sync_folder, write_text

PENDING = ".commit"
_PLAN = "plan.json"


@final
class Staged:
    """Files being written, which will replace those in `folder` together."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self.folder, self._staging = folder, staging
        self.replaced: list[str] = []
        self._removed: list[str] = []

    def place(self, name: str) -> Path:
        """Return where to write what will become `name`, a file or a folder whose parts are written one by one."""
        if name not in self.replaced:
            self.replaced.append(name)
        return self._staging / str(self.replaced.index(name))

    def remove(self, name: str) -> None:
        """Have a file removed at the same moment."""
        self._removed.append(name)

    def removals(self) -> list[str]:
        """Return what will be removed: what is replaced as well is not."""
        return [name for name in self._removed if name not in self.replaced]

    def write_plan(self) -> None:
        """Write down what is to be moved where. Raises OSError where a file would have to replace a folder."""
        for name in self.replaced:
            if (self.folder / name).is_dir() and not self.place(name).is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self.folder / name))
        plan = {"replace": self.replaced, "remove": self.removals()}
        write_text(self._staging / _PLAN, json.dumps(plan) + "\n")


@contextmanager
def replacing_together(folder: Path, complete: Callable[[Staged], None]) -> Iterator[Staged]:
    """Stage new files and folders; they take their places when the block ends without an error.

    `complete` is called at the end of the block, and may stage more. Raises CannotWrite where the system refuses.
    """
    finish_commit(folder)
    staging = own_name(folder / PENDING.removeprefix("."), "partial")
    with explained(folder):
        _tidy(folder, staging)
        staging.mkdir(parents=True)
    try:
        staged = Staged(folder, staging)
        yield staged
        complete(staged)
        with explained(folder):
            staged.write_plan()
            sync_folder(staging)
            staging.rename(folder / PENDING)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    finish_commit(folder)


def is_pending(folder: Path) -> bool:
    """Return whether a process was killed after its decision, so that `finish_commit` has something to do."""
    return (folder / PENDING).is_dir()


def finish_commit(folder: Path) -> None:
    """Move what was decided to its places. Raises CannotWrite where the system refuses; then the next call goes on."""
    pending = folder / PENDING
    if not pending.is_dir():
        return
    try:
        plan = json.loads((pending / _PLAN).read_bytes())
        replaced, removed = list(map(str, plan["replace"])), list(map(str, plan["remove"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        hint = f"It holds what a killed command was about to put into {folder}: move it away, and run that once more."
        raise HeedfulError(f"{pending} is damaged.", hint=hint) from None
    with explained(folder):
        sync_folder(folder)
        for number, name in enumerate(replaced):
            if (new := pending / str(number)).exists():
                _move(new, folder / name, aside=pending / f"{number}.former")
        for name in removed:
            (folder / name).unlink(missing_ok=True)
        sync_folder(folder)
        remove_folder(pending)


def _move(new: Path, place: Path, aside: Path) -> None:
    if new.is_dir() and place.exists():
        shutil.rmtree(aside, ignore_errors=True)
        place.rename(aside)
    place.parent.mkdir(parents=True, exist_ok=True)
    os.replace(new, place)


def _tidy(folder: Path, staging: Path) -> None:
    """Remove what killed processes left that had decided nothing, or had done everything."""
    shutil.rmtree(staging, ignore_errors=True)
    remove_abandoned(folder / PENDING.removeprefix("."), "partial")
    remove_abandoned(folder / PENDING, "removed")
