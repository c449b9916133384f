"""Ctrl-C, SIGTERM and `--resume`: a checkpoint, a command that works as printed, and the run that would have been."""

import os
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.killing import compare
from tests.pipeline.little import little_settings

from heedful.errors import Interrupted
from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe
from heedful.records.run import Run

SHORT = ("training.max_updates=24", "training.log_every=4")


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as Python has it, also where the tests run in the background and it is ignored."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


def signalling(number: int, event: str, update: int | None = None) -> Callable[[str, Mapping[str, Any]], None]:
    """A report that sends this process a signal at the first such event (of this update)."""
    sent = [False]

    def report(name: str, facts: Mapping[str, Any]) -> None:
        if not sent[0] and name == event and update in (None, facts.get("update")):
            sent[0] = True
            os.kill(os.getpid(), number)

    return report


def printed_command(error: Interrupted) -> list[str]:
    """The arguments of the command that the hint says to type."""
    assert error.hint is not None
    words = shlex.split(error.hint.removeprefix("Go on with: "))
    assert words[0] == "heedful"
    return words[1:]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    return train(load_recipe(None, little_settings(folder / "data", *SHORT)), folder / "run").run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_in_training(number: int, whole: Path, tmp_path: Path, heedful: Callable) -> None:
    """After updates 8 and 20, neither of which is validated, in a folder whose name needs quotes."""
    recipe = load_recipe(None, little_settings(whole.parent / "data", *SHORT))
    folder = tmp_path / "my run lr=0.1"
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="Stopped after update 8; the checkpoint is written") as caught:
        train(recipe, folder, report=signalling(number, "train", 8))
    assert caught.value.exit_code == 130
    assert (folder / "checkpoints" / "last").read_text() == "update-00000008\n"
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    with pytest.raises(Interrupted, match="after update 20"):
        train(recipe, folder, resume=True, report=signalling(number, "train", 20))
    outcome = heedful(*printed_command(caught.value))
    assert outcome.code == 0, outcome.err
    assert compare(folder, whole) == []


def test_a_log_line_may_begin_before_an_interruption(whole: Path, tmp_path: Path) -> None:
    """The validation at update 10 stands between the log lines of 8 and 12; the line of 12 covers all four updates."""
    recipe = load_recipe(None, little_settings(whole.parent / "data", *SHORT))
    with pytest.raises(Interrupted, match="after update 10"):
        train(recipe, tmp_path / "run", report=signalling(signal.SIGINT, "validation", 10))
    train(recipe, tmp_path / "run", resume=True)
    assert compare(tmp_path / "run", whole) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", ["tokenizers", "encoding", "ended", "evaluating"])
def test_signal_outside_training(stage: str, number: int, whole: Path, tmp_path: Path, heedful: Callable) -> None:
    recipe = load_recipe(None, little_settings(whole.parent / "data", *SHORT))
    with pytest.raises(Interrupted, match="what was finished is kept") as caught:
        train(recipe, tmp_path / "run", report=signalling(number, stage))
    assert heedful(*printed_command(caught.value)).code == 0
    assert compare(tmp_path / "run", whole) == []


def test_exit_code_and_printed_hint(tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the command line, whose display is the report."""
    from heedful.cli.progress import TrainingDisplay

    signal_at = signalling(signal.SIGINT, "validation", 10)
    monkeypatch.setattr(TrainingDisplay, "__call__", lambda _self, event, facts: signal_at(event, facts))
    settings = little_settings(tmp_path / "data", *SHORT, f"run={tmp_path / 'run'}")
    outcome = heedful("train", *settings)
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err.splitlines() == [
        "error: Stopped after update 10; the checkpoint is written.",
        f"hint: Go on with: heedful train --resume {tmp_path / 'run'}",
    ]


def test_a_longer_training_may_be_asked_for(whole: Path, tmp_path: Path) -> None:
    """A finished run goes on where it stopped, as a run that was that long from the start."""
    changes = ("training.schedule=inverse_sqrt", "training.max_updates=20")
    settings = little_settings(whole.parent / "data", *SHORT, *changes)
    train(load_recipe(None, settings), tmp_path / "run")
    longer = load_recipe(None, [*settings, "training.max_updates=30"])
    went_on = train(longer, tmp_path / "run", resume=True)
    at_once = train(longer, tmp_path / "at once")
    assert went_on.outcome.progress.update == 30
    assert compare(tmp_path / "run", tmp_path / "at once") == []
    assert at_once.finished.scores == went_on.finished.scores
    assert Run.open(tmp_path / "run").config()["training"]["max_updates"] == 30


def test_less_may_be_asked_for_after_an_interruption(whole: Path, tmp_path: Path) -> None:
    """The run is over at once; it is validated first, since it had no validation yet."""
    settings = little_settings(whole.parent / "data", *SHORT)
    with pytest.raises(Interrupted):
        train(load_recipe(None, settings), tmp_path / "run", report=signalling(signal.SIGINT, "train", 4))
    shorter = load_recipe(None, [*settings, "training.max_updates=4", "training.warmup_steps=4"])
    with pytest.raises(Exception, match="warmup_steps: 10 -> 4"):
        train(shorter, tmp_path / "run", resume=True)
    in_time = load_recipe(None, [*settings, "training.max_minutes=0.0000001"])
    found = train(in_time, tmp_path / "run", resume=True)
    assert found.outcome.reason == "max_minutes"
    assert found.outcome.progress.best_update == found.outcome.progress.update == 4
    assert Run.open(tmp_path / "run").state() == "complete"


def test_a_changed_corpus_is_refused(tmp_path: Path, heedful: Callable) -> None:
    recipe = load_recipe(None, little_settings(tmp_path / "data", *SHORT))
    with pytest.raises(Interrupted):
        train(recipe, tmp_path / "run", report=signalling(signal.SIGINT, "train", 8))
    former = (tmp_path / "data" / "train.tsv").read_text()
    (tmp_path / "data" / "train.tsv").write_text("a b\tb a\n" + former)
    outcome = heedful("train", "--resume", str(tmp_path / "run"))
    assert (outcome.code, outcome.out) == (2, "")
    assert (
        "error: The data have changed since this run began:\n  train: 200 pairs -> 201 pairs; the first" in outcome.err
    )
    (tmp_path / "data" / "train.tsv").write_text(former)
    assert heedful("train", "--resume", str(tmp_path / "run")).code == 0


def test_from_another_folder(tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths of the recipe begin where the run began, if they lead to nothing from here."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    settings = little_settings(Path("files"), *SHORT, "run=runs/mine")
    with pytest.raises(Interrupted):
        train(load_recipe(None, settings), report=signalling(signal.SIGINT, "train", 8))
    assert Run.open(Path("runs/mine")).environment()["begun_in"] == "../.."
    typed = Run.open(Path("runs/mine")).config_text
    assert "files/train.tsv" in typed
    moved = (tmp_path / "project").rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run = moved / "runs" / "mine"
    assert heedful("train", "--resume", str(run)).code == 0
    for arguments in (("evaluate", str(run)), ("evaluate", str(run / "model")), ("average", str(run), "--last", "1")):
        outcome = heedful(*arguments)
        assert outcome.code == 0, outcome.err
    assert Run.open(run).config_text == typed
    assert str(tmp_path) not in (run / "model" / "recipe.toml").read_text()
    (moved / "files" / "test.tsv").rename(moved / "files" / "gone.tsv")
    outcome = heedful("evaluate", str(run))
    assert (outcome.code, outcome.out) == (2, "")
    assert "There is no file files/test.tsv" in outcome.err
    (tmp_path / "elsewhere" / "files").mkdir()
    (moved / "files" / "gone.tsv").rename(tmp_path / "elsewhere" / "files" / "test.tsv")
    assert heedful("evaluate", str(run)).code == 0
