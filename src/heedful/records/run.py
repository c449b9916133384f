"""A run directory: what a training run keeps, and the lock that lets only one process write it.

    config.resolved.toml  environment.json  log.jsonl               from the start
    data/  checkpoints/                                             the work
    model/                                                          the bundle
    data_manifest.csv  results.csv  errors.jsonl  outputs/SPLIT.jsonl   the evidence
    SHA256SUMS                                                      the checksums of configuration and evidence

Does not know what is trained, nor what a checkpoint or a bundle holds.
"""

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from heedful.config import flatten
from heedful.errors import ConfigError
from heedful.records.environment import describe_environment
from heedful.records.files import explained, read_json_lines, to_json, write_lines
from heedful.records.folder import DROPPED, RecordFolder
from heedful.records.manifest import ManifestRow, read_manifest_file, split_of, write_manifest_file
from heedful.records.outputs import Output, read_outputs_file, write_outputs_file
from heedful.records.results import Result, merge_results, read_results_file, write_results_file
from heedful.records.score_history import unscored
from heedful.text.atomic_files import remove_folder

CONFIG = "config.resolved.toml"
RECORD_FILES = (CONFIG, "data_manifest.csv", "results.csv", "errors.jsonl")
BEGINNINGS = re.compile(  # what may lie in a folder in which a run was about to begin
    r"\.lock|\.commit|\.writing-.*|\..*\.\d+\.(part|partial|former|removed)|SHA256SUMS|environment\.json"
)


@final
class Run(RecordFolder):
    """One run directory."""

    @classmethod
    def at(cls, folder: Path) -> "Run":
        """Return the run directory of this name, made if it is not there, to be entered and then begun.

        Raises ConfigError for a file, and for a folder with something else in it, and touches neither.
        """
        if folder.exists() and not folder.is_dir():
            raise ConfigError(
                f"{folder} is a file, so no run can be kept there.", hint="Choose another `run` directory."
            )
        _refuse_strangers(folder)
        run = cls(folder)
        run._made = [path for path in (folder, *folder.parents) if not path.exists()]  # the nearest first
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return run

    @classmethod
    def create(
        cls, folder: Path, recipe_toml: str, command: Sequence[str], changeable: Collection[str] | None = ()
    ) -> "Run":
        """Make a run directory and begin it, or return the one that is there if its configuration is this one."""
        with cls.at(folder) as run:
            run.begin(recipe_toml, command, changeable)
        return run

    @classmethod
    def open(cls, folder: Path | str) -> "Run":
        """Open an existing run directory. Raises ConfigError where there is none."""
        folder = Path(folder)
        run = cls(folder)
        run._finish_others()
        if not is_run(folder):
            what = "has no run directory" if not folder.exists() else f"holds no {CONFIG}, so it is no run directory"
            raise ConfigError(f"{folder} {what}.", hint="`heedful runs list FOLDER` shows the runs in a folder.")
        return run

    def begin(
        self,
        recipe_toml: str,
        command: Sequence[str],
        changeable: Collection[str] | None = (),
        begun_with: str | None = None,
    ) -> list[str]:
        """Write what a run begins with, or check that the run that is there has this configuration; what changed.

        `changeable` lists dotted keys that may differ from those of an existing run (how long to train, for example);
        the new values then replace the stored ones, and the log says so. With None all may, and the run is begun anew.
        `begun_with` is the stored configuration as this version reads it, where an earlier one may have stored it.
        Raises ConfigError for a folder with something else in it, and for a run with another configuration, and changes
        neither.
        """
        with self:
            if is_run(self.folder):
                stored = self.config()  # checked to be as it was written
                old = stored if begun_with is None else _parsed(begun_with, self.config_path)
                return self._adopt(flatten(old), recipe_toml, command, changeable)
            _refuse_strangers(self.folder)
            self._begin(recipe_toml, command)
            return []

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
        return self.config_path.read_text(encoding="utf-8")

    @property
    def config_path(self) -> Path:
        """The file of the resolved configuration. Raises HeedfulError where it is not as it was written."""
        return self._checked(CONFIG)

    def config(self) -> dict[str, Any]:
        """Read the resolved configuration as a plain nested dictionary."""
        return _parsed(self.config_text, self.folder / CONFIG)

    def environment(self) -> dict[str, Any]:
        """Read the facts of environment.json about the run's beginning; none where it is missing."""
        path = self._checked("environment.json")
        return next(read_json_lines(path), {}) if path.exists() else {}

    @property
    def begun_in(self) -> Path | None:
        """The folder in which the run was begun, as seen from its own: in it begin relative paths of its recipe.

        None for runs of an earlier version.
        """
        found = self.environment().get("begun_in")
        return None if found is None else self.folder.resolve() / found

    def write_results(self, rows: Iterable[Result]) -> None:
        """Write results.csv anew."""
        with self.new("results.csv") as path:
            write_results_file(path, rows)

    def add_results(self, rows: Iterable[Result]) -> None:
        """Add rows to results.csv; a row of the same measurement (`Result.key`) takes the place of the older one."""
        self.write_results(merge_results(self.read_results(), rows))

    def read_results(self) -> list[Result]:
        """Read the rows of results.csv; none where it is missing."""
        path = self._checked("results.csv")
        return read_results_file(path) if path.exists() else []

    def write_errors(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write errors.jsonl: one line for each item that the model got wrong (`heedful.evaluation.mistakes`)."""
        with self.new("errors.jsonl") as path:
            write_lines(path, map(to_json, rows))

    def add_errors(self, split: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write the wrong items of a split into errors.jsonl in place of its older ones; those of other splits stay."""
        others = [row for row in self.read_errors() if split_of(row["id"]) != split]
        self.write_errors([*others, *rows])

    def read_errors(self) -> list[dict[str, Any]]:
        """Read the lines of errors.jsonl; none where it is missing."""
        path = self._checked("errors.jsonl")
        return list(read_json_lines(path)) if path.exists() else []

    def write_manifest(self, rows: Iterable[ManifestRow]) -> None:
        """Write data_manifest.csv."""
        with self.new("data_manifest.csv") as path:
            write_manifest_file(path, rows)

    def read_manifest(self) -> Iterator[ManifestRow]:
        """Read the rows of data_manifest.csv, one by one: there may be as many as pairs. None where the file is
        missing.
        """
        path = self._checked("data_manifest.csv")
        return read_manifest_file(path) if path.exists() else iter(())

    def write_outputs(self, split: str, rows: Iterable[Output]) -> None:
        """Write outputs/SPLIT.jsonl."""
        with self.new(f"outputs/{split}.jsonl") as path:
            write_outputs_file(path, rows)

    def forget_former(self) -> None:
        """Have removed what is of a former model: outputs of splits that are not written in the same `together`, and
        lines that were dropped from the log.
        """
        with self.together():
            assert self._staged is not None
            self._staged.remove(DROPPED)
            for path in self.folder.glob("outputs/*.jsonl"):
                if (name := f"outputs/{path.name}") not in self._staged.replaced:
                    self._staged.remove(name)

    def read_outputs(self, split: str) -> list[Output]:
        """Read the stored outputs of a split. Raises ConfigError where there are none."""
        path = self._checked(f"outputs/{split}.jsonl")
        if not path.exists():
            raise ConfigError(
                f'The run {self.folder} has no stored outputs of the split "{split}".',
                hint=f"`heedful evaluate {self.folder} --split {split}` makes them.",
            )
        return read_outputs_file(path)

    def state(self) -> str:
        """Return "complete", or what is still to be done: record files that are missing, updates
        that are not scored.
        """
        missing = [name for name in RECORD_FILES if not (self.folder / name).exists()]
        if missing:
            return f"incomplete: missing {', '.join(missing)}"
        return unscored(self.read_log()) or "complete"

    def _begin(self, recipe_toml: str, command: Sequence[str]) -> None:
        """Write what the run begins with."""
        facts = {"command": list(command), "begun_in": os.path.relpath(Path.cwd(), self.folder.resolve())}
        with self.together():
            with self.new("environment.json") as path:
                write_lines(path, [to_json({**facts, **describe_environment()})])
            with self.new(CONFIG) as path:  # last: it makes the folder a run
                write_lines(path, recipe_toml.splitlines())

    def _adopt(
        self, old: Mapping[str, Any], recipe_toml: str, command: Sequence[str], changeable: Collection[str] | None
    ) -> list[str]:
        """Check that an existing run has this configuration, and take over what may change: these keys."""
        new = flatten(_parsed(recipe_toml, Path("the new configuration")))
        changed = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
        fixed = [key for key in changed if changeable is not None and key not in changeable]
        if fixed:
            lines = [f"  {key}: {_shown(old.get(key))} -> {_shown(new.get(key))}" for key in fixed]
            raise ConfigError(
                f"{self.folder} already holds a run with another configuration:\n" + "\n".join(lines),
                hint="Choose another directory with run=..., or take the old values; nothing was changed.",
            )
        if changed:
            facts = {key: {"old": old.get(key), "new": new.get(key)} for key in changed}
            self.log("config", {"command": list(command), "changed": facts})
            if changeable is None:
                remove_folder(self.checkpoints)  # of the former beginning
                self._begin(recipe_toml, command)
            else:
                with self.new(CONFIG) as path:
                    write_lines(path, recipe_toml.splitlines())
        return changed


def is_run(folder: Path) -> bool:
    """Return whether a folder is a run directory: it holds a resolved configuration."""
    return (folder / CONFIG).is_file()


def _refuse_strangers(folder: Path) -> None:
    """Raise ConfigError where there is more in a folder than a run, or the beginnings of one that was cut off."""
    if not folder.exists() or is_run(folder):
        return
    strangers = [path.name for path in sorted(folder.iterdir()) if not BEGINNINGS.fullmatch(path.name)]
    if strangers:
        raise ConfigError(
            f"{folder} is not empty and is no run directory (it holds {strangers[0]}).",
            hint="Choose another `run` directory; nothing was changed.",
        )


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}.", hint="A run's stored configuration is not to be edited.") from None


def _shown(value: Any) -> str:
    return "(not set)" if value is None else repr(value)
