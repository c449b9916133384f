"""An export that is interrupted or killed: real processes and real signals, and nothing of theirs stays behind."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.export import native_again
from tests.pipeline.little import untrained_bundle

from heedful.cli.app import app
from heedful.export import targets
from heedful.models.bundle import Bundle

PAIRS = [("abc de", "cba ed"), ("fghi", "ihgf"), ("jk", "kj")]
PATIENCE = 60.0  # seconds


class Place(NamedTuple):
    """Where a model lies and an export is to go."""

    bundle: Path
    out: Path
    dev: Path
    err: Path

    def arguments(self) -> list[str]:
        return ["export", str(self.bundle), str(self.out), "--to", "again", "--dev", str(self.dev)]

    def beside(self) -> list[str]:
        return sorted(path.name for path in self.out.parent.iterdir())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setitem(targets.TARGETS, "again", "tests.export.native_again")
    made = Place(
        untrained_bundle(tmp_path / "model", PAIRS), tmp_path / "exports" / "out", tmp_path / "dev", tmp_path / "err"
    )
    made.dev.write_text("abc\nde f\n")
    made.out.parent.mkdir()
    return made


def exporting(place: Place) -> int:
    """A process that has written half an export, and goes on for a long time; its id."""

    def half(bundle: Bundle, folder: Path, precision: str) -> None:
        (folder / "half").write_text("half")
        time.sleep(PATIENCE)

    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # as from a terminal
            native_again.export = half
            os.dup2(os.open(place.err, os.O_WRONLY | os.O_CREAT), sys.stderr.fileno())
            app(args=place.arguments(), prog_name="heedful")
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        finally:
            os._exit(status)
    deadline = time.monotonic() + PATIENCE
    while not (place.out.parent / f".out.{child}.partial" / "half").exists():
        assert time.monotonic() < deadline, place.err.read_text()
        time.sleep(0.01)
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(number: int, place: Place) -> None:
    child = exporting(place)
    os.kill(child, number)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    assert place.err.read_text().endswith("error: Interrupted.\n")
    assert place.beside() == []


def test_killed(place: Place, heedful: Callable) -> None:
    """What is left of the killed one goes with the next export to the same place; that of a living one stays."""
    killed = exporting(place)
    os.kill(killed, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(killed, 0)[1]) == -signal.SIGKILL
    assert place.beside() == [f".out.{killed}.partial"]
    living = exporting(place)
    try:
        assert place.beside() == [f".out.{living}.partial"]
        outcome = heedful(*place.arguments())
        assert outcome.code == 0, outcome.err
        assert place.beside() == [f".out.{living}.partial", "out"]
    finally:
        os.kill(living, signal.SIGTERM)
        os.waitpid(living, 0)
    assert place.beside() == ["out"]
