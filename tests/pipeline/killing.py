"""Train a little model in processes that are killed again and again, then compare it with one that nobody disturbed.

    python -m tests.pipeline.killing FOLDER [SEED]

A kill is a real SIGKILL, which no handler sees: in a named stage, before its n-th change of a file or after a moment of
its work. Importing torch takes seconds, so the processes are forked from this one, which itself computes nothing.
"""

import csv
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.pipeline.little import SUBWORDS, little_settings

from heedful.pipeline.train import train
from heedful.recipe.recipe import Recipe, load_recipe

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree")
UNEQUAL_EACH_TIME = ("time", "crc32", "seconds", "validation_seconds", "target_tokens_per_second")


class Kill(NamedTuple):
    """When a process ends: from `event` on, before the `change`-th change of a file whose path holds `path`, or after
    `moment` seconds.
    """

    stage: str
    event: str | None  # None: from the start
    path: str = ""
    change: int | None = None
    moment: float = 0.0


def schedule(rng: random.Random) -> list[Kill]:
    """Ten kills on the way through a run, in the order of its stages."""
    return [
        Kill("start", None, change=rng.randint(1, 6)),
        Kill("tokenizers", "tokenizers", moment=rng.uniform(0, 0.02)),
        Kill("encoding", "encoding", path="data", change=rng.randint(1, 8)),
        Kill("training", "train", moment=rng.uniform(0, 0.1)),
        Kill("a checkpoint", "validation", path="checkpoints", change=rng.randint(1, 9)),
        Kill("validation", "update 20", moment=rng.uniform(0, 0.02)),
        Kill("a later checkpoint", "update 40", path="checkpoints", change=rng.randint(1, 16)),
        Kill("the bundle", "ended", path="model", change=rng.randint(1, 9)),
        Kill("the final evaluation", "evaluating", moment=rng.uniform(0, 0.02)),
        Kill("the records", "evaluating", change=rng.randint(1, 8)),
    ]


class Executioner:
    """Kills its own process at the moment that a Kill describes; it is the run's report and hears of file changes."""

    def __init__(self, kill: Kill, folder: Path) -> None:
        self.kill, self.folder = kill, str(folder)
        self.armed = kill.event is None
        self.seen = 0
        sys.addaudithook(self.hear)

    def __call__(self, event: str, facts: Mapping[str, Any]) -> None:
        if self.armed and event != self.kill.event:  # the stage is over: now at the latest
            self.end()
        if not self.armed and self.kill.event in (event, f"update {facts.get('update')}"):
            self.armed = True
            if self.kill.change is None:
                threading.Timer(self.kill.moment, self.end).start()

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed or self.kill.change is None or not self.changes(event, arguments):
            return
        path = str(arguments[0])
        if path.startswith(self.folder) and self.kill.path in path.removeprefix(self.folder):
            self.seen += 1
            if self.seen == self.kill.change:
                self.end()

    @staticmethod
    def changes(event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "open":
            return bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
        return event in CHANGES

    @staticmethod
    def end() -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def silent(_event: str, _facts: Mapping[str, Any]) -> None:
    """A report that nobody reads."""


def run_in_process(recipe: Recipe, folder: Path, kill: Kill | None) -> int:
    """Train, or go on with training, in a process of its own; the exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            report = silent if kill is None else Executioner(kill, folder)
            train(recipe, folder, resume=(folder / "config.resolved.toml").exists(), report=report)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def curves(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """What the log says of each update, without times."""
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [
        (line["event"], {key: value for key, value in line.items() if key not in UNEQUAL_EACH_TIME})
        for line in lines
        if line["event"] in ("train", "validation")
    ]


def results(folder: Path) -> list[dict[str, str]]:
    """results.csv without times and without the run's name."""
    with (folder / "results.csv").open(newline="") as file:
        return [
            {key: cell for key, cell in row.items() if key not in ("run", "seconds")} for row in csv.DictReader(file)
        ]


def weight_files(folder: Path) -> list[str]:
    """The files of numbers that a run keeps: checkpoints, optimiser, bundle."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.safetensors"))


def compare(disturbed: Path, whole: Path) -> list[str]:
    """Everything in which the two runs differ; nothing, if all is well."""
    found = []
    mine, theirs = weight_files(disturbed), weight_files(whole)
    if mine != theirs:
        found.append(f"kept weights: {mine} and {theirs}")
    equal = ("checkpoints/best", "checkpoints/last", "data_manifest.csv", "errors.jsonl", "outputs/test.jsonl")
    for name in (*sorted(set(mine) & set(theirs)), *equal):
        if (disturbed / name).read_bytes() != (whole / name).read_bytes():
            found.append(f"{name} differs")
    if curves(disturbed) != curves(whole):
        found.append("the curves in log.jsonl differ")
    if results(disturbed) != results(whole):
        found.append("results.csv differs")
    return found


def main(folder: Path, seed: int) -> int:
    """Ten kills of each of two recipes; prints what was done, and gives the number of faults."""
    rng = random.Random(seed)
    faults = 0
    for name, changes in (("words", ()), ("subwords, sampled", SUBWORDS)):
        recipe = load_recipe(None, little_settings(folder / name, *changes))
        whole, disturbed = folder / name / "whole", folder / name / "killed"
        began = time.monotonic()
        assert run_in_process(recipe, whole, None) == 0
        print(f"{name}: undisturbed in {time.monotonic() - began:.1f} s", flush=True)
        for kill in schedule(rng):
            status = run_in_process(recipe, disturbed, kill)
            print(f"{name}: {kill.stage}: {status}", flush=True)
            faults += status != -signal.SIGKILL
        faults += run_in_process(recipe, disturbed, None) != 0
        for difference in compare(disturbed, whole):
            print(f"{name}: {difference}", flush=True)
            faults += 1
    return faults


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1) and 1)
