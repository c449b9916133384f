"""A folder of records: locked while it is written, its files replaced together and checked when they are read.

Does not know which files these are, nor what is in them, but for the log.
"""

import datetime
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from heedful.records.checksums import SUMS, check_files, checksum, checksum_lines, read_checksums
from heedful.records.commit import Staged, finish_commit, is_pending, replacing_together
from heedful.records.files import explained, write_lines
from heedful.records.lock import FolderLock
from heedful.records.log import append_event, cut_off_end, event_line, read_events
from heedful.text.atomic_files import write_text

LOG = "log.jsonl"
DROPPED = "log.dropped.jsonl"
PATIENCE = 10.0  # seconds that a reader waits for somebody who is putting new records into their places


class RecordFolder:
    """A folder with a lock, a log, and records that are replaced together.

    Use it as a context manager before anything is read that decides what is written: that takes the lock, and mends
    what a killed process left.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = FolderLock(folder)
        self._made: list[Path] = []  # folders that go again if nothing is put into them, the nearest first
        self._staged: Staged | None = None

    def __enter__(self) -> Self:
        first = not self._lock.held
        self._lock.acquire()
        if first:
            try:
                self._mend()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()
        if not self._lock.held:
            with suppress(OSError):  # something was put there
                for folder in self._made:
                    folder.rmdir()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Have all records, and the bundle, that are written within the block take their places as one at its end."""
        if self._staged is not None:
            yield
            return
        with self, replacing_together(self.folder, self._stage_checksums) as staged:
            self._staged = staged
            try:
                yield
            finally:
                self._staged = None

    @contextmanager
    def new(self, name: str) -> Iterator[Path]:
        """Give the place to write what will become the file or folder `name` of the run, with those of `together`."""
        with self.together(), explained(self.folder / name):
            assert self._staged is not None
            yield self._staged.place(name)

    def log(self, event: str, facts: Mapping[str, Any]) -> None:
        """Append one line to log.jsonl: the time (UTC), the event and its facts."""
        time = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        append_event(self.folder / LOG, {"time": time, "event": event, **facts})

    def read_log(self, event: str | None = None) -> list[dict[str, Any]]:
        """Read the lines of log.jsonl, or those of one event."""
        return [line for line in read_events(self.folder / LOG) if event is None or line["event"] == event]

    def truncate_log(self, update: int) -> int:
        """Move the lines of later updates to log.dropped.jsonl and return their number.

        A run that resumes from a checkpoint goes through those updates again: without this, its curves would have two
        values at one update. Lines without an `update` stay. What was dropped before is forgotten.
        """
        lines = self.read_log()
        dropped = [line for line in lines if line.get("update", 0) > update]
        if dropped:
            kept = [line for line in lines if line.get("update", 0) <= update]
            write_lines(self.folder / DROPPED, map(event_line, dropped))
            write_lines(self.folder / LOG, map(event_line, kept))
        return len(dropped)

    def _checked(self, name: str) -> Path:
        """Return the path of a record. Raises HeedfulError where it has a checksum and is not as it was written."""
        path = self.folder / name
        if path.exists():
            check_files(self.folder, [name])
        return path

    def _stage_checksums(self, staged: Staged) -> None:
        """Write the checksums of all records, as they will be; folders such as the bundle have their own inside."""
        kept = read_checksums(self.folder) or {}
        for name in staged.removals():
            kept.pop(name, None)
        own = [name for name in staged.replaced if "/" not in name or name.startswith("outputs/")]
        new = {name: checksum(staged.place(name)) for name in own if staged.place(name).is_file()}
        if new or staged.removals():
            write_text(staged.place(SUMS), checksum_lines({**kept, **new}))

    def _mend(self) -> None:
        finish_commit(self.folder)
        with explained(self.folder):
            for left in (*self.folder.glob(".writing-*"), *self.folder.glob("outputs/.writing-*")):
                left.unlink()  # of an earlier version
        cut_off_end(self.folder / LOG)

    def _finish_others(self) -> None:
        """Do what a process was killed in the middle of, before the folder is read."""
        if is_pending(self.folder):
            self._lock.acquire(wait=PATIENCE)
            try:
                finish_commit(self.folder)
            finally:
                self._lock.release()
