"""Processes that are killed (SIGKILL) before each of their file operations: the next call goes on, and nothing is left.

An operation is whatever changes a file or a folder: opening one to write, renaming, linking, removing, making,
truncating, and having it written to the disk. The processes are forked, since importing torch takes seconds.
"""

import csv
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from faults_world import LINES, call, finished_run, settings_in, silence

from heedful.errors import HeedfulError
from heedful.pipeline.load import load
from heedful.records.checksums import check_files
from heedful.records.run import Run, is_run

CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree")
UNEQUAL = ("time", "seconds", "validation_seconds", "target_tokens_per_second", "crc32")  # in two runs of one recipe
LOGGED = ("train", "validation")
EXISTS = 2  # the exit code of a command whose place is taken


class Verb(NamedTuple):
    """A command, what it begins with, and the commands with which a user would go on: the first that is not refused."""

    name: str
    before: Callable[[Path], None]
    command: Callable[[Path], list[str]]
    again: Callable[[Path], list[list[str]]]
    makes_something_new: bool = False  # and is refused, rightly, where that is there and whole


class Kills(NamedTuple):
    """What became of one verb that was killed before so many of its operations."""

    verb: str
    operations: int
    killed: int
    faults: list[str]
    seconds: float


def verbs(world: Path) -> list[Verb]:
    """Every verb that writes, on the data and the finished run of a world."""
    recipe, finished = settings_in(world / "data"), finished_run(world / "data", world / "finished")
    table = str(world / "data" / "train.tsv")
    dev = world / "dev.txt"
    dev.write_text("".join(f"{line}\n" for line in LINES))

    def empty(_place: Path) -> None:
        return

    def with_run(place: Path) -> None:
        shutil.copytree(finished, place / "run")

    def same(command: Callable[[Path], list[str]]) -> Callable[[Path], list[list[str]]]:
        return lambda place: [command(place)]

    def train(place: Path) -> list[str]:
        return ["train", *recipe, f"run={place / 'run'}"]

    def resume(place: Path) -> list[str]:
        return ["train", "--resume", str(place / "run"), "training.max_updates=8"]

    def average(place: Path) -> list[str]:
        return ["average", str(place / "run"), "--last", "1", "--force"]

    def evaluate(place: Path) -> list[str]:
        return ["evaluate", str(place / "run"), "search.beam=1"]

    def shortlist(place: Path) -> list[str]:
        return ["shortlist", str(place / "run"), "--k", "3"]

    def export(place: Path) -> list[str]:
        return ["export", str(finished), str(place / "out"), "--to", "ctranslate2", "--dev", str(dev)]

    def split(place: Path) -> list[str]:
        return ["data", "split", table, "--out", str(place / "out"), "--dev", "5", "--test", "5"]

    def get(place: Path) -> list[str]:
        return ["data", "get", "reverse", "--pairs", "50", "--to", str(place / "out")]

    return [
        Verb("train", empty, train, lambda place: [train(place), ["train", "--resume", str(place / "run")]]),
        Verb("train --resume", with_run, resume, same(resume)),
        Verb("average", with_run, average, same(average)),
        Verb("evaluate", with_run, evaluate, same(evaluate)),
        Verb("shortlist", with_run, shortlist, same(shortlist)),
        Verb("export", empty, export, same(export), makes_something_new=True),
        Verb("data split", empty, split, same(split), makes_something_new=True),
        Verb("data get --to", empty, get, same(get), makes_something_new=True),
    ]


def kill_everywhere(verb: Verb, world: Path, most: int | None = None) -> Kills:
    """Kill a verb before each of its operations, or before so many of them, and look at what it left."""
    began, place, faults, killed = time.monotonic(), world / "place", [], 0
    before = _answers(_fresh(verb, place))
    undisturbed = [_undisturbed(verb, place) for _ in range(2)]
    after, count = _answers(place), undisturbed[0].operations
    told = [
        before,
        after,
        [after[0], []] if before is None and after else None,
    ]  # a new model is there before its scores
    step = max(1, -(-count // most)) if most else 1
    for operation in range(1, count + 1, step):
        status = _forked(verb.command(_fresh(verb, place)), place, kill=operation).status
        killed += status == -signal.SIGKILL
        wrong = _faults(verb, place, [one.contents for one in undisturbed], told)
        faults += [f"operation {operation}: {fault}" for fault in wrong]
    shutil.rmtree(place)
    return Kills(verb.name, count, killed, faults, round(time.monotonic() - began, 1))


def _fresh(verb: Verb, place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    verb.before(place)
    return place


class Undisturbed(NamedTuple):
    """What a verb leaves, and in how many operations."""

    contents: dict[str, Any]
    operations: int


def _undisturbed(verb: Verb, place: Path) -> Undisturbed:
    done = _forked(verb.command(_fresh(verb, place)), place, kill=None)
    assert done.status == 0, f"{verb.name} fails undisturbed"
    return Undisturbed(_contents(place), done.operations)


def _faults(verb: Verb, place: Path, expected: Sequence[dict[str, Any]], told: Sequence[Any]) -> Iterator[str]:
    """What is wrong after a kill, for whoever reads, and after the next call."""
    if (found := _answers(place)) not in told:
        yield f"a reader is told neither of the old model nor of the new one: {found}"
    statuses = []
    for command in verb.again(place):
        statuses.append(_forked(command, place, kill=None).status)
        if statuses[-1] == 0:
            break
    if statuses[-1] != 0 and not (verb.makes_something_new and statuses[-1] == EXISTS):
        yield f"the next call ended with {statuses}"
        return
    contents = _contents(place)
    for name in sorted(expected[0].keys() ^ contents.keys()):
        yield f"{name} {'is left' if name in contents else 'is missing'}"
    for name in sorted(expected[0].keys() & contents.keys()):
        if expected[0][name] == expected[1][name] != contents[name]:
            yield f"{name} differs"


def _answers(place: Path) -> Any:
    """What a reader is told: outputs of the model, and its scores. None where there is no finished run."""
    try:
        if not is_run(place / "run") or not (Run.open(place / "run").bundle / "bundle.toml").is_file():
            return None
        texts = [one.text for one in load(place / "run").translate(LINES)]
        rows = [row for row in Run.open(place / "run").read_results() if row.signature]
        return [texts, [[row.checkpoint, row.decode, row.metric, row.value] for row in rows]]
    except HeedfulError as error:
        return f"error: {error.message}"


def _contents(place: Path) -> dict[str, Any]:
    """Every file by its name, hidden ones too; of records that hold times, all but these."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in place.rglob("*") if path.name != ".lock"):
        name = path.relative_to(place).as_posix()
        if path.name == "log.jsonl":
            lines = map(json.loads, path.read_text("utf-8").splitlines())
            found[name] = [_without_times(line) for line in lines if line["event"] in LOGGED]
        elif path.name == "results.csv":
            rows = csv.DictReader(path.read_text("utf-8").splitlines())
            found[name] = [_without_times(row) for row in rows]
        elif path.name in ("environment.json", "SHA256SUMS", "parity.json"):
            check_files(path.parent)
            found[name] = None
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def _without_times(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in UNEQUAL}


class Ended(NamedTuple):
    """How a process ended, and how many operations it had made if nobody killed it."""

    status: int
    operations: int


def _forked(arguments: Sequence[str], folder: Path, kill: int | None) -> Ended:
    """Run a command in a process of its own, killed before the `kill`-th operation in a folder."""
    begin, end = os.pipe()
    child = os.fork()
    if child == 0:
        status = 99
        try:
            silence()
            seen = _count_operations(str(folder), kill)
            status = call(arguments)
            os.write(end, str(len(seen)).encode())
        finally:
            os._exit(status)
    os.close(end)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(begin) as pipe:
        return Ended(status, int(pipe.read() or 0))


def _count_operations(folder: str, kill: int | None) -> list[str]:
    """From here on note each operation in a folder, and die before the `kill`-th."""
    seen: list[str] = []

    def note(operation: str, path: object) -> None:
        if folder in str(path):
            seen.append(operation)
            if len(seen) == kill:
                os.kill(os.getpid(), signal.SIGKILL)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in CHANGES:
            inside = arguments[-1] if event in ("os.remove", "os.rmdir") and arguments[-1] != -1 else None
            note(event, arguments[0] if inside is None else os.readlink(f"/proc/self/fd/{inside}"))

    fsync = os.fsync

    def heard_fsync(descriptor: int) -> None:
        note("fsync", os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    os.fsync = heard_fsync
    sys.addaudithook(hear)
    return seen
