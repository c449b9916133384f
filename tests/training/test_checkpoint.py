"""Checkpoints: what is kept, what a full disk or a kill leaves, and what a damaged one says."""

import errno
import json
import math
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.training.toy import Toy, batch_at, held_out_loss, scores, toy

from heedful.errors import HeedfulError
from heedful.records.checksums import SUMS
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.progress import TrainingProgress, read_progress


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def save(made: Toy, update: int, best: int, validated: bool = True) -> None:
    """Save the model as it is now, as the state after `update`."""
    progress = TrainingProgress(update=update, best_update=best, best_score=float(best), validated=validated)
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
        assert empty.last_progress() == TrainingProgress()
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

    def killed_second(model: torch.nn.Module, optimizer: torch.optim.Optimizer, progress: TrainingProgress) -> None:
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


class TestProgress:
    """Of a checkpoint without checksums, as earlier versions wrote them: what is read can be true, or is refused."""

    @pytest.fixture
    def path(self, trained: Toy) -> Path:
        save(trained, 1, best=1)
        folder = trained.checkpoints.folder / "update-00000001"
        (folder / SUMS).unlink()
        return folder / "progress.json"

    @pytest.mark.parametrize("content", ["", "{", "[1]", "7", '{"update": 1, "unheard": 2}', '{"window": 3}'])
    def test_damaged(self, trained: Toy, path: Path, content: str) -> None:
        path.write_text(content)
        with pytest.raises(HeedfulError, match=r"progress\.json is missing or damaged") as caught:
            trained.checkpoints.last_progress()
        assert "heedful average RUN --last N" in (caught.value.hint or "")

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("update", "1"),
            ("update", 1.0),
            ("update", True),
            ("update", -1),
            ("best_update", None),
            ("seconds", "nan"),
            ("seconds", math.inf),
            ("best_score", math.nan),
            ("validated", 1),
            ("without_better", -1),
            ("window", []),
        ],
    )
    def test_of_another_type(self, trained: Toy, path: Path, key: str, value: object) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
        with pytest.raises(HeedfulError, match=r"progress\.json is missing or damaged"):
            trained.checkpoints.load_last(trained.model, trained.trainer.optimizer)

    @pytest.mark.parametrize(("key", "value"), [("count", 2.5), ("seconds", math.nan), ("updates", -3), ("nll", "1")])
    def test_window_of_another_type(self, trained: Toy, path: Path, key: str, value: object) -> None:
        facts = json.loads(path.read_text())
        facts["window"][key] = value
        path.write_text(json.dumps(facts))
        with pytest.raises(HeedfulError, match=r"progress\.json is missing or damaged"):
            trained.checkpoints.last_progress()

    @pytest.mark.parametrize(("key", "value"), [("update", 2_999_999), ("update", 0), ("best_update", 2)])
    def test_what_cannot_be(self, trained: Toy, path: Path, key: str, value: int) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
        with pytest.raises(HeedfulError, match=r"progress\.json says update .*, which cannot be"):
            trained.checkpoints.load_last(trained.model, trained.trainer.optimizer)

    def test_before_the_first_validation(self, trained: Toy) -> None:
        """The best score is then minus infinity, which JSON lacks and Python writes all the same."""
        made = TrainingProgress(update=3)
        trained.checkpoints.save(trained.model, trained.trainer.optimizer, made)
        (trained.checkpoints.folder / "update-00000003" / SUMS).unlink()
        assert trained.checkpoints.last_progress() == made


class TestLost:
    def test_a_checkpoint_that_is_gone(self, trained: Toy) -> None:
        save(trained, 1, best=1)
        save(trained, 2, best=1)
        shutil.rmtree(trained.checkpoints.folder / "update-00000002")
        for read in (trained.checkpoints.last_progress, trained.checkpoints.best):
            with pytest.raises(HeedfulError, match=r"last names update-00000002, which is no whole") as caught:
                read()
            assert "make a model of update-00000001: heedful average" in (caught.value.hint or "")
        assert [path.name for path in trained.checkpoints.validated()] == ["update-00000001"]

    def test_the_file_last(self, trained: Toy) -> None:
        """The checkpoint itself says all, so that nothing is begun anew."""
        for update in (1, 2):
            save(trained, update, best=1)
        (trained.checkpoints.folder / "last").unlink()
        (trained.checkpoints.folder / "best").unlink()
        assert trained.checkpoints.last_progress().update == 2
        best = trained.checkpoints.best()
        assert best is not None
        assert best.name == "update-00000001"

    def test_the_file_last_and_all_that_is_whole(self, trained: Toy) -> None:
        save(trained, 1, best=1)
        (trained.checkpoints.folder / "last").unlink()
        (trained.checkpoints.folder / "update-00000001" / "model.safetensors").unlink()
        assert trained.checkpoints.is_begun()
        with pytest.raises(HeedfulError, match="has no whole checkpoint to go on from") as caught:
            trained.checkpoints.last()
        assert "begin another run" in (caught.value.hint or "")

    def test_the_best_one(self, trained: Toy) -> None:
        for update in (1, 2, 3):
            save(trained, update, best=1)
        shutil.rmtree(trained.checkpoints.folder / "update-00000001")
        trained.checkpoints.tidy()
        with pytest.raises(HeedfulError, match=r"update-00000001, the best checkpoint, is gone") as caught:
            trained.checkpoints.best()
        assert "make a model of update-00000002, update-00000003" in (caught.value.hint or "")

    def test_half_of_an_old_one(self, trained: Toy) -> None:
        """Versions that removed a checkpoint file by file may have been killed at it."""
        for update in (1, 2, 3):
            save(trained, update, best=update)
        (trained.checkpoints.folder / "update-00000002" / "progress.json").unlink()
        assert [path.name for path in trained.checkpoints.validated()] == ["update-00000003"]
        save(trained, 4, best=4)
        assert names(trained.checkpoints.folder) == ["best", "last", "update-00000003", "update-00000004"]

    @pytest.mark.parametrize("name", ["update-00000001", "update-00000009", "..", "", "\xff"])
    def test_last_names_another(self, trained: Toy, name: str) -> None:
        """Only the last one has an optimiser."""
        for update in (1, 2):
            save(trained, update, best=1)
        (trained.checkpoints.folder / "last").write_text(name, "latin-1")
        with pytest.raises(HeedfulError, match="which is no whole checkpoint"):
            trained.checkpoints.load_last(trained.model, trained.trainer.optimizer)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "progress.json"])
def test_no_flipped_byte_is_believed(trained: Toy, name: str) -> None:
    save(trained, 1, best=1)
    path = trained.checkpoints.folder / "update-00000001" / name
    whole, chance = path.read_bytes(), random.Random(1)
    for _ in range(25):
        place, change = chance.randrange(len(whole)), chance.randint(1, 255)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
        with pytest.raises(HeedfulError):
            trained.checkpoints.load_last(trained.model, trained.trainer.optimizer)
    path.write_bytes(whole)
    assert trained.checkpoints.load_last(trained.model, trained.trainer.optimizer).update == 1


def test_leftovers_go_with_the_next_one(trained: Toy) -> None:
    save(trained, 1, best=1)
    folder = trained.checkpoints.folder
    shutil.copytree(folder / "update-00000001", folder / ".update-00000002.1.partial")
    (folder / "update-00000001").rename(folder / ".update-00000001.1.former")  # killed before the new one was there
    (folder / ".last.1.part").write_text("update")
    save(trained, 3, best=1)
    assert names(folder) == ["best", "last", "update-00000001", "update-00000003"]
    assert trained.checkpoints.best() == folder / "update-00000001"
