"""The place of an export or an import: made beside it, put there when it proved equal, and kept aside when not.

Knows nothing of what is in it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from heedful.errors import CheckFailed, ConfigError
from heedful.export.parity import Parity
from heedful.records.files import explained
from heedful.text.atomic_files import own_name, remove_abandoned, with_room


def refuse_existing(out: Path) -> None:
    """Refuse a place that is taken. Raises ConfigError where there is something already."""
    if out.exists():
        raise ConfigError(f"{out} exists already.", hint="Name a new folder, or remove this one first.")


@contextmanager
def prepared_place(out: Path) -> Iterator[Path]:
    """Yield an empty folder beside `out` to fill, of this process alone; it is removed if `put_in_place` has not moved
    it, and so are those of processes that were killed.

    Raises ConfigError where `out` exists already, and CannotWrite where the system refuses.
    """
    refuse_existing(out)
    out = out.absolute()
    partial = own_name(out, "partial")
    above = [folder for folder in out.parents if not folder.exists()]  # the nearest first
    with explained(out):
        try:
            remove_abandoned(out, "partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            yield partial
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            for folder in above:
                with suppress(OSError):  # something was put there
                    folder.rmdir()


def put_in_place(partial: Path, out: Path, parity: Parity, what: str = "The export") -> None:
    """Move what was written to `out`.

    Raises ConfigError where another process has put something there meanwhile, and CheckFailed where the parity fails:
    what was written is then kept as `OUT.failed`.
    """
    if out.exists():
        raise ConfigError(f"{out} was made by somebody else meanwhile.", hint="Look at it, or name a new folder.")
    try:
        parity.check(what)
    except CheckFailed as failure:
        failed = out.absolute().with_name(f"{with_room(out.name, len('.failed.4194304'))}.failed")
        if failed.exists() and not (failed / "parity.json").is_file():  # something else of that name
            failed = failed.with_name(f"{failed.name}.{os.getpid()}")
        shutil.rmtree(failed, ignore_errors=True)
        partial.rename(failed)
        message = f"{failure.message} It was not put at {out}, but kept as {failed} with its report parity.json."
        raise CheckFailed(message, hint=failure.hint) from None
    partial.rename(out.absolute())
