"""A disk that is full and a folder that is read-only, for every verb that writes: real refusals of the system.

One clear message; what was there is as it was, or was replaced whole; nothing half-written stays.
"""

import ctypes
import os
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.pipeline.little import little_run

from heedful.cli.app import app
from heedful.export import targets
from heedful.records.run import Run

LIMIT = 300  # bytes that a file may have
CAPABILITIES = 0x20080522  # of the third version of the system's interface


class Outcome(NamedTuple):
    """What a process came to."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.TARGETS, "again", "tests.export.native_again")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("trained"), "tokenizer.source.kind=characters")


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    (tmp_path / "text").write_text("a b c d\n" * 60)
    return Path(shutil.copytree(trained, tmp_path / "run"))


def in_a_process(arguments: list[str], hinder: Callable[[], object]) -> Outcome:
    """Run a command where `hinder` has been called."""
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if child == 0:
        status = 99
        try:
            sys.stdout, sys.stderr = (os.fdopen(end, "w") for _, end in pipes)
            hinder()
            app(args=arguments, prog_name="heedful")
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 98
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for _, end in pipes:
        os.close(end)
    said = []
    for begin, _ in pipes:
        with os.fdopen(begin, encoding="utf-8") as pipe:
            said.append(pipe.read())
    return Outcome(code, *said)


def no_large_files() -> None:
    """Files end after LIMIT bytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def an_ordinary_user() -> None:
    """Without the privileges of root, for whom nothing is read-only."""
    header = (ctypes.c_uint32 * 2)(CAPABILITIES, 0)
    assert ctypes.CDLL(None).capset(header, (ctypes.c_uint32 * 6)()) == 0


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def said_once(outcome: Outcome, *texts: str) -> None:
    assert outcome.code == 1, outcome.err
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert sum(line.startswith("error: ") for line in lines) == 1, outcome.err
    assert lines[-1].startswith("hint: "), outcome.err
    for text in texts:
        assert text in outcome.err


def commands(run: Path) -> dict[str, list[str]]:
    """Every verb that writes what exists to be kept, and what its error calls the place."""
    out = run.parent / "new" / "out"
    text = run.parent / "text"
    return {
        "export": ["export", str(run), str(out), "--to", "again", "--sentences", "2"],
        "shortlist": ["shortlist", str(run), "--k", "2"],
        "average": ["average", str(run), "--last", "1"],
        "evaluate": ["evaluate", str(run), "--split", "dev"],
        "translate": ["translate", str(run), str(text), "--output", str(run.parent / "translated")],
        "init": ["init", "--output", str(run.parent / "recipe.toml")],
        "train": ["train", "--resume", str(run), "training.max_updates=3"],
    }


PLACES = {
    "export": "new/out",
    "shortlist": "run/model/shortlist.",
    "average": "run/",  # the log, which is near its limit; then the model
    "evaluate": "run/outputs/dev.jsonl",
    "translate": "translated",
    "init": "recipe.toml",
    "train": "run/",
}


@pytest.mark.parametrize("verb", PLACES)
def test_full_disk(verb: str, run: Path, tmp_path: Path) -> None:
    before = contents(tmp_path)
    outcome = in_a_process(commands(run)[verb], no_large_files)
    said_once(outcome, f"{tmp_path}/{PLACES[verb]}", "could not be written: File too large.")
    after = contents(tmp_path)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed <= {"run/.lock", "run/log.jsonl"}, changed  # a log only grows
    assert not (tmp_path / "new").exists()
    assert Run.open(run).state() == "complete"


@pytest.mark.parametrize("verb", PLACES)
def test_read_only(verb: str, run: Path, tmp_path: Path) -> None:
    folders = [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]
    before = contents(tmp_path)
    for path in (*folders, run / "log.jsonl", run / ".lock"):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        outcome = in_a_process(commands(run)[verb], an_ordinary_user)
    finally:
        for path in (*folders, run / "log.jsonl", run / ".lock"):
            path.chmod(path.stat().st_mode | 0o200)
    said_once(outcome, "may not be written (permission denied).", "Choose a folder that belongs to you")
    assert contents(tmp_path) == before


def test_a_shortlist_is_whole_or_not_there(run: Path) -> None:
    """The table fits on the disk and its facts do not."""

    def no_facts() -> None:
        (run / "model" / "shortlist.toml").mkdir()

    outcome = in_a_process(commands(run)["shortlist"], no_facts)
    said_once(outcome, "could not be written: Is a directory.")
    assert not (run / "model" / "shortlist.safetensors").exists()
