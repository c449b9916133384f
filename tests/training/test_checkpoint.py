"""Checkpoints: what is kept, what a full disk or a kill leaves, and what a damaged one says."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.training.toy import Toy, batch_at, held_out_loss, scores, toy

from heedful.errors import HeedfulError
from heedful.training.checkpoint import CheckpointFolder, Progress, read_progress


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def save(made: Toy, update: int, best: int, validated: bool = True) -> None:
    """Save the model as it is now, as the state after `update`."""
    progress = Progress(update=update, best_update=best, best_score=float(best), validated=validated)
    made.checkpoints.save(made.model, made.trainer.optimizer, progress)


@pytest.fixture
def trained(tmp_path: Path) -> Toy:
    """A trainer that has made two updates, so that the optimiser has something to keep."""
    made = toy(tmp_path / "elsewhere", {"max_updates": 2})
    made.trainer.run(batch_at, held_out_loss)
    return made._replace(checkpoints=CheckpointFolder(tmp_path / "checkpoints", keep=2))


class TestKept:
    def test_best_last_and_the_newest_validated(self, trained: Toy) -> None:
        for update in range(1, 7):
            save(trained, update, best=min(update, 2))
        folder = trained.checkpoints.folder
        assert names(folder) == ["best", "last", "update-00000002", "update-00000005", "update-00000006"]
        assert trained.checkpoints.best() == folder / "update-00000002"
        assert trained.checkpoints.last() == folder / "update-00000006"
        assert trained.checkpoints.validated() == [folder / f"update-0000000{n}" for n in (2, 5, 6)]

    def test_an_interruption_is_last_and_then_goes(self, trained: Toy) -> None:
        save(trained, 1, best=1)
        save(trained, 2, best=1, validated=False)
        checkpoints = trained.checkpoints
        assert checkpoints.last() == checkpoints.folder / "update-00000002"
        assert [path.name for path in checkpoints.validated()] == ["update-00000001"]
        save(trained, 3, best=1)
        assert names(checkpoints.folder) == ["best", "last", "update-00000001", "update-00000003"]

    def test_only_last_has_an_optimiser(self, trained: Toy) -> None:
        for update in (1, 2, 3):
            save(trained, update, best=update)
        found = sorted(path.parent.name for path in trained.checkpoints.folder.glob("*/optimizer.safetensors"))
        assert found == ["update-00000003"]

    def test_nothing_yet(self, tmp_path: Path) -> None:
        empty = CheckpointFolder(tmp_path / "none", keep=1)
        assert empty.last() is None
        assert empty.best() is None
        assert empty.last_progress() == Progress()
        assert empty.validated() == []


def test_save_is_load(trained: Toy, tmp_path: Path) -> None:
    save(trained, 7, best=3)
    other = toy(tmp_path / "other", seed=1)
    assert trained.checkpoints.load_last(other.model, other.trainer.optimizer) == trained.checkpoints.last_progress()
    assert torch.equal(other.weights(), trained.weights())
    for mine, theirs in zip(trained.model.parameters(), other.model.parameters(), strict=True):
        kept, found = trained.trainer.optimizer.state[mine], other.trainer.optimizer.state[theirs]
        assert kept.keys() == found.keys()
        assert {"step", "exp_avg", "exp_avg_sq"} <= kept.keys()
        assert all(torch.equal(kept[part], found[part]) for part in kept)


class Killed(BaseException):
    """The process ends here; nothing of ours may catch it."""


class Fuse:
    """Lets so many changes of files through, then fails each with an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, steps: int, error: Callable[[], BaseException]) -> None:
        self.left, self.error = steps, error
        for owner, name in ((os, "fsync"), (Path, "rename"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir")):
            monkeypatch.setattr(owner, name, self.guarded(getattr(owner, name)))
        monkeypatch.setattr(shutil, "rmtree", self.guarded(shutil.rmtree))

    def guarded(self, function: Callable[..., object]) -> Callable[..., object]:
        def guard(*args: object, **options: object) -> object:
            if self.left <= 0:
                if options.get("ignore_errors"):
                    return None
                raise self.error()
            self.left -= 1
            return function(*args, **options)

        return guard


STEPS = 24  # more changes of files than saving takes


@pytest.mark.parametrize("steps", range(STEPS))
def test_killed_anywhere_training_goes_on_as_if_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """The second validation is the best one; its checkpoint is killed at each step of being written."""
    changes = {"max_updates": 3, "validate_every": 1}
    whole = toy(tmp_path / "whole", changes, keep=1)
    whole.trainer.run(batch_at, scores(1.0, 3.0, 2.0))

    first = toy(tmp_path / "killed", changes, keep=1)
    save_checkpoint = first.checkpoints.save

    def killed_second(model: torch.nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
        with pytest.MonkeyPatch.context() as patched:
            if progress.update == 2:
                Fuse(patched, steps, Killed)
            save_checkpoint(model, optimizer, progress)

    monkeypatch.setattr(first.checkpoints, "save", killed_second)
    try:
        first.trainer.run(batch_at, scores(1.0, 3.0, 2.0))
        killed = False
    except Killed:
        killed = True
    assert killed or steps > 10
    assert not (killed and steps == STEPS - 1), "STEPS is too small to reach every change of a file"

    again = toy(tmp_path / "killed", changes, keep=1, seed=1)
    done = again.checkpoints.last_progress().update
    assert done in (1, 2, 3)
    again.trainer.run(batch_at, scores(*(1.0, 3.0, 2.0)[done:]))
    assert torch.equal(again.weights(), whole.weights())
    assert names(again.checkpoints.folder) == names(whole.checkpoints.folder)
    best = again.checkpoints.best()
    assert best is not None
    assert read_progress(best).update == 2


@pytest.mark.parametrize("steps", range(5))
def test_a_full_disk_loses_nothing(trained: Toy, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    save(trained, 1, best=1)
    before, weights = names(trained.checkpoints.folder), trained.weights()
    with monkeypatch.context() as patched:
        fsync, left = os.fsync, [steps]

        def full(descriptor: int) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(descriptor)

        patched.setattr(os, "fsync", full)
        with pytest.raises(HeedfulError, match=r"The disk is full: .*checkpoints could not be written") as caught:
            save(trained, 2, best=2)
        assert "what was there before is unharmed" in (caught.value.hint or "")
    kept = [name for name in names(trained.checkpoints.folder) if name != "update-00000002" and name[0] != "."]
    assert kept == before
    assert not any(name.endswith("00002.partial") for name in names(trained.checkpoints.folder))
    assert trained.checkpoints.load_last(trained.model, trained.trainer.optimizer).update == 1
    assert torch.equal(trained.weights(), weights)
    save(trained, 2, best=2)
    assert trained.checkpoints.last_progress().update == 2


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"update": 1, "unheard": 2}'])
def test_a_damaged_progress(trained: Toy, content: str) -> None:
    save(trained, 1, best=1)
    (trained.checkpoints.folder / "update-00000001" / "progress.json").write_text(content)
    with pytest.raises(HeedfulError, match=r"progress\.json is missing or damaged") as caught:
        trained.checkpoints.last_progress()
    assert "into the file `last`" in (caught.value.hint or "")


def test_a_checkpoint_that_is_gone(trained: Toy) -> None:
    save(trained, 1, best=1)
    shutil.rmtree(trained.checkpoints.folder / "update-00000001")
    with pytest.raises(HeedfulError, match="There is no"):
        trained.checkpoints.load_last(trained.model, trained.trainer.optimizer)
    with pytest.raises(HeedfulError, match="is missing or damaged"):
        trained.checkpoints.last_progress()
