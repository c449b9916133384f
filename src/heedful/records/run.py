"""A run directory: what a training run keeps, and the lock that lets only one process write it.

    config.resolved.toml  environment.json  log.jsonl               from the start
    data/  checkpoints/                                             the work
    model/                                                          the bundle
    data_manifest.csv  results.csv  errors.jsonl  outputs/SPLIT.jsonl   the evidence

Does not know what is trained, nor what a checkpoint or a bundle holds.
"""

import datetime
import fcntl
import os
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from heedful.config import flatten
from heedful.errors import ConfigError, HeedfulError
from heedful.records.environment import describe_environment
from heedful.records.files import TEMPORARY, append_line, explained, read_json_lines, to_json, write_lines
from heedful.records.manifest import ManifestRow, read_manifest_file, split_of, write_manifest_file
from heedful.records.outputs import Output, read_outputs_file, write_outputs_file
from heedful.records.results import Result, merge_results, read_results_file, write_results_file

CONFIG = "config.resolved.toml"
RECORD_FILES = (CONFIG, "data_manifest.csv", "results.csv", "errors.jsonl")


class Run:
    """One run directory.

    Use it as a context manager while writing: that takes the lock, and mends a log that a crash cut off.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None

    @classmethod
    def create(
        cls, folder: Path, recipe_toml: str, command: Sequence[str], changeable: Collection[str] | None = ()
    ) -> "Run":
        """Make a run directory, or return the one that is there if its configuration is this one.

        `changeable` lists dotted keys that may differ from those of an existing run (how long to train, for example);
        the new values then replace the stored ones, and the log says so. With None all may, and the run is begun anew.
        Raises ConfigError for a folder with something else in it, and for a run with another configuration, and touches
        neither.
        """
        run = cls(folder)
        if folder.exists() and not folder.is_dir():
            raise ConfigError(
                f"{folder} is a file, so no run can be kept there.", hint="Choose another `run` directory."
            )
        if is_run(folder):
            run._adopt(recipe_toml, command, changeable)
            return run
        strangers = _strangers(folder)
        if strangers:
            raise ConfigError(
                f"{folder} is not empty and is no run directory (it holds {strangers[0]}).",
                hint="Choose another `run` directory; nothing was changed.",
            )
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
        run._begin(recipe_toml, command)
        return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open an existing run directory. Raises ConfigError where there is none."""
        if not is_run(folder):
            what = "has no run directory" if not folder.exists() else f"holds no {CONFIG}, so it is no run directory"
            raise ConfigError(f"{folder} {what}.", hint="`heedful runs list FOLDER` shows the runs in a folder.")
        return cls(folder)

    def __enter__(self) -> Self:
        with explained(self.folder):
            lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(lock)
            raise HeedfulError(
                f"The run {self.folder} is in use by process {holder}.",
                hint="Wait for it, or choose another `run` directory.",
            ) from None
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
        self._lock = lock
        self._mend_log()
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def name(self) -> str:
        """The folder's own name, by which tables call the run."""
        return self.folder.resolve().name

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.folder / "checkpoints"

    @property
    def bundle(self) -> Path:
        """The folder of the finished model."""
        return self.folder / "model"

    @property
    def data(self) -> Path:
        """The folder of the stored ids and the tokenisers."""
        return self.folder / "data"

    @property
    def config_text(self) -> str:
        """The resolved configuration, as TOML."""
        return (self.folder / CONFIG).read_text(encoding="utf-8")

    def config(self) -> dict[str, Any]:
        """The resolved configuration as a plain nested dictionary."""
        return _parsed(self.config_text, self.folder / CONFIG)

    def environment(self) -> dict[str, Any]:
        """What environment.json says of the run's beginning; nothing where it is missing."""
        path = self.folder / "environment.json"
        return next(read_json_lines(path), {}) if path.exists() else {}

    @property
    def begun_in(self) -> Path | None:
        """The folder in which the run was begun, as seen from its own: in it begin relative paths of its recipe.

        None for runs of an earlier version.
        """
        found = self.environment().get("begun_in")
        return None if found is None else self.folder.resolve() / found

    def log(self, event: str, facts: Mapping[str, Any]) -> None:
        """Append one line to log.jsonl: the time (UTC), the event and its facts."""
        time = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        append_line(self.folder / "log.jsonl", to_json({"time": time, "event": event, **facts}))

    def read_log(self, event: str | None = None) -> list[dict[str, Any]]:
        """The lines of log.jsonl, or those of one event."""
        path = self.folder / "log.jsonl"
        lines = read_json_lines(path) if path.exists() else iter(())
        return [line for line in lines if event is None or line["event"] == event]

    def truncate_log(self, update: int) -> int:
        """Move the lines of later updates to log.dropped.jsonl and return their number.

        A run that resumes from a checkpoint goes through those updates again: without this, its curves would have two
        values at one update. Lines without an `update` stay.
        """
        lines = self.read_log()
        dropped = [line for line in lines if line.get("update", 0) > update]
        for line in dropped:
            append_line(self.folder / "log.dropped.jsonl", to_json(line))
        if dropped:
            kept = [line for line in lines if line.get("update", 0) <= update]
            write_lines(self.folder / "log.jsonl", map(to_json, kept))
        return len(dropped)

    def write_results(self, rows: Iterable[Result]) -> None:
        """Write results.csv anew."""
        write_results_file(self.folder / "results.csv", rows)

    def add_results(self, rows: Iterable[Result]) -> None:
        """Add rows to results.csv; a row of the same measurement (`Result.key`) takes the place of the older one."""
        self.write_results(merge_results(self.read_results(), rows))

    def read_results(self) -> list[Result]:
        """The rows of results.csv; none where it is missing."""
        path = self.folder / "results.csv"
        return read_results_file(path) if path.exists() else []

    def write_errors(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write errors.jsonl: one line for each item that the model got wrong (`heedful.evaluation.mistakes`)."""
        write_lines(self.folder / "errors.jsonl", map(to_json, rows))

    def add_errors(self, split: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write the wrong items of a split into errors.jsonl in place of its older ones; those of other splits stay."""
        others = [row for row in self.read_errors() if split_of(row["id"]) != split]
        self.write_errors([*others, *rows])

    def read_errors(self) -> list[dict[str, Any]]:
        """The lines of errors.jsonl; none where it is missing."""
        path = self.folder / "errors.jsonl"
        return list(read_json_lines(path)) if path.exists() else []

    def write_manifest(self, rows: Iterable[ManifestRow]) -> None:
        """Write data_manifest.csv."""
        write_manifest_file(self.folder / "data_manifest.csv", rows)

    def read_manifest(self) -> Iterator[ManifestRow]:
        """The rows of data_manifest.csv, one by one: there may be as many as pairs. None where the file is missing."""
        path = self.folder / "data_manifest.csv"
        return read_manifest_file(path) if path.exists() else iter(())

    def write_outputs(self, split: str, rows: Iterable[Output]) -> None:
        """Write outputs/SPLIT.jsonl."""
        write_outputs_file(self.folder / "outputs" / f"{split}.jsonl", rows)

    def read_outputs(self, split: str) -> list[Output]:
        """The stored outputs of a split. Raises ConfigError where there are none."""
        path = self.folder / "outputs" / f"{split}.jsonl"
        if not path.exists():
            raise ConfigError(
                f'The run {self.folder} has no stored outputs of the split "{split}".',
                hint=f"`heedful evaluate {self.folder} --split {split}` makes them.",
            )
        return read_outputs_file(path)

    def state(self) -> str:
        """ "complete", or "incomplete: missing ..." with the record files that are not there."""
        missing = [name for name in RECORD_FILES if not (self.folder / name).exists()]
        return f"incomplete: missing {', '.join(missing)}" if missing else "complete"

    def _begin(self, recipe_toml: str, command: Sequence[str]) -> None:
        """Write what the run begins with."""
        facts = {"command": list(command), "begun_in": os.path.relpath(Path.cwd(), self.folder.resolve())}
        write_lines(self.folder / "environment.json", [to_json({**facts, **describe_environment()})])
        write_lines(self.folder / CONFIG, recipe_toml.splitlines())

    def _adopt(self, recipe_toml: str, command: Sequence[str], changeable: Collection[str] | None) -> None:
        """Check that an existing run has this configuration, and take over what may change."""
        old, new = flatten(self.config()), flatten(_parsed(recipe_toml, Path("the new configuration")))
        changed = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
        fixed = [key for key in changed if changeable is not None and key not in changeable]
        if fixed:
            lines = [f"  {key}: {_shown(old.get(key))} -> {_shown(new.get(key))}" for key in fixed]
            raise ConfigError(
                f"{self.folder} already holds a run with another configuration:\n" + "\n".join(lines),
                hint="Choose another directory with run=..., or take the old values; nothing was changed.",
            )
        if changed:
            with self:
                facts = {key: {"old": old.get(key), "new": new.get(key)} for key in changed}
                self.log("config", {"command": list(command), "changed": facts})
                if changeable is None:
                    self._begin(recipe_toml, command)
                else:
                    write_lines(self.folder / CONFIG, recipe_toml.splitlines())

    def _mend_log(self) -> None:
        """Cut off a last line whose writing a crash interrupted, so that the next line starts on its own."""
        path = self.folder / "log.jsonl"
        if path.exists():
            with path.open("r+b") as file:
                file.truncate(_end_of_last_line(file))


def is_run(folder: Path) -> bool:
    """Whether a folder is a run directory: it holds a resolved configuration."""
    return (folder / CONFIG).is_file()


def _strangers(folder: Path) -> list[str]:
    """What lies in a folder beside the beginnings of a run whose creation was cut off."""
    if not folder.exists():
        return []
    names = sorted(path.name for path in folder.iterdir())
    return [name for name in names if name not in (".lock", "environment.json") and not name.startswith(TEMPORARY)]


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}.", hint="A run's stored configuration is not to be edited.") from None


def _shown(value: Any) -> str:
    return "(not set)" if value is None else repr(value)


def _end_of_last_line(file: Any, block: int = 65536) -> int:
    """The position after the last "\\n" of a binary file (0 where it has none), read from its end."""
    position = file.seek(0, os.SEEK_END)
    while position > 0:
        start = max(0, position - block)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0
