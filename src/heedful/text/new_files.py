"""Several new files of one folder that appear together: all or none, also where the process is killed.

Each is written into a hidden folder and linked into its place from there. The hidden folder goes last and at once, so
that a later call can tell what a killed process had linked, and take it back. Knows nothing of what is in the files.
"""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from heedful.errors import CannotWrite, ConfigError
from heedful.text.atomic_files import abandoned, own_name, remove_abandoned, sync_folder

STAGING = "new files"
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV, errno.EMLINK)  # as on FAT


@contextmanager
def creating(folder: Path, names: Sequence[str]) -> Iterator[Sequence[BinaryIO]]:
    """Open new files, which appear in the folder when the block ends without an error; after one there are none.

    Raises ConfigError where one is there already, at the beginning or at the end, and CannotWrite where the system
    refuses.
    """
    refuse_existing(folder, names)
    staging, removed = (own_name(folder / STAGING, suffix) for suffix in ("partial", "removed"))
    made = [above for above in (folder, *folder.parents) if not above.exists()]  # the nearest first
    placed: list[Path] = []
    try:
        staging.mkdir(parents=True)
        with ExitStack() as stack:
            files = [stack.enter_context((staging / name).open("wb")) for name in names]
            yield files
            for file in files:
                file.flush()
                os.fsync(file.fileno())
        for name in names:
            _place(staging / name, folder / name)
            placed.append(folder / name)
        sync_folder(folder)
    except BaseException as error:
        for path in placed:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise CannotWrite(folder, error) from error
        raise
    finally:
        if staging.exists():
            staging.rename(removed)  # at once: from here on nobody takes back what was placed
        shutil.rmtree(removed, ignore_errors=True)
        for above in made:
            with suppress(OSError):  # something was put there
                above.rmdir()


def refuse_existing(folder: Path, names: Sequence[str]) -> None:
    """Raise ConfigError where one of these files is there; what a killed process had put there is taken back first."""
    remove_abandoned(folder / STAGING, "removed")
    for left in abandoned(folder / STAGING, "partial"):
        _take_back(left, folder)
    for name in names:
        if (folder / name).exists():
            raise ConfigError(f"{folder / name} exists already.", hint="Name another folder, or remove it yourself.")


def _take_back(staging: Path, folder: Path) -> None:
    with suppress(OSError):  # what may not be removed stays, and is refused as any file that is there
        for part in staging.iterdir():
            place = folder / part.name
            if place.exists() and place.samefile(part):
                place.unlink()
        shutil.rmtree(staging)


def _place(part: Path, place: Path) -> None:
    """Give a file its place, unless there is something already."""
    try:
        os.link(part, place)
    except FileExistsError:
        hint = "Look at it, or name another folder."
        raise ConfigError(f"{place} was made by somebody else meanwhile.", hint=hint) from None
    except OSError as refusal:
        if refusal.errno not in NO_LINKS:
            raise
        part.rename(place)
