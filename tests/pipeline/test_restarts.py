"""Runs that lose a file, are begun twice, go on after their end, or leave the numbers: nothing is decided silently."""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.pipeline.killing import compare
from tests.pipeline.little import QUICK, little_run, little_settings
from tests.pipeline.test_resume import signalling

from heedful.errors import ConfigError, HeedfulError, Interrupted
from heedful.events import silent
from heedful.models.weights import FILE, read_tensors
from heedful.pipeline import train as train_module
from heedful.pipeline.train import train
from heedful.recipe.recipe import Recipe, load_recipe
from heedful.records.run import Run
from heedful.training.divergence import Diverged
from heedful.training.loop import Trainer

SHORT = ("training.max_updates=24", "training.log_every=4")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    return train(load_recipe(None, little_settings(folder / "data", *SHORT)), folder / "run").run


@pytest.fixture
def recipe(whole: Path) -> Recipe:
    return load_recipe(None, little_settings(whole.parent / "data", *SHORT))


@pytest.fixture
def stopped(recipe: Recipe, tmp_path: Path) -> Path:
    """A run that was interrupted after update 16, the second log line behind its first validation."""
    with pytest.raises(Interrupted, match="after update 16"):
        train(recipe, tmp_path / "run", report=signalling(signal.SIGTERM, "train", 16))
    return tmp_path / "run"


class TestLostFiles:
    @pytest.mark.parametrize("names", [("last",), ("best",), ("last", "best")], ids=" ".join)
    def test_the_names_of_checkpoints(self, names: tuple[str, ...], stopped: Path, whole: Path, recipe: Recipe) -> None:
        """The checkpoints say themselves what they are: the run ends as it would have."""
        for name in names:
            (stopped / "checkpoints" / name).unlink()
        with pytest.raises(ConfigError, match="holds a run already"):
            train(recipe, stopped)
        train(recipe, stopped, resume=True)
        assert compare(stopped, whole) == []

    @pytest.mark.parametrize("lost", ["checkpoints", "checkpoints/last checkpoints/update-00000016"])
    def test_checkpoints(self, lost: str, stopped: Path, recipe: Recipe) -> None:
        """Nothing is begun anew in silence, with this recipe or another."""
        for name in lost.split():
            path = stopped / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        log = (stopped / "log.jsonl").read_bytes()
        with pytest.raises(HeedfulError, match=r"no checkpoint is left|has no whole checkpoint") as caught:
            train(recipe, stopped, resume=True)
        assert "from a copy" in (caught.value.hint or "")
        with pytest.raises(ConfigError, match="holds a run already"):
            train(recipe.model_copy(update={"seed": 7}), stopped)
        assert (stopped / "log.jsonl").read_bytes() == log

    def test_what_was_prepared_and_the_former_training_file(self, stopped: Path, whole: Path, recipe: Recipe) -> None:
        """Prepared anew from other pairs it is refused; from the same ones it is the same."""
        shutil.rmtree(stopped / "data")
        path = whole.parent / "data" / "train.tsv"
        former = path.read_text()
        path.write_text(former.replace("\n", "\nb a\ta b\n", 1))
        try:
            with pytest.raises(
                ConfigError, match=r"The data have changed since this run began:\n  train_pairs: 200 -> 201"
            ):
                train(recipe, stopped, resume=True)
        finally:
            path.write_text(former)
        train(recipe, stopped, resume=True)
        assert compare(stopped, whole) == []

    def test_a_run_whose_last_checkpoint_is_damaged_is_refused(self, stopped: Path, recipe: Recipe) -> None:
        path = stopped / "checkpoints" / "update-00000016" / "optimizer.safetensors"
        content = bytearray(path.read_bytes())
        content[-3] ^= 16
        path.write_bytes(content)
        with pytest.raises(HeedfulError, match=r"optimizer\.safetensors is damaged: it is not as it was written"):
            train(recipe, stopped, resume=True)


def test_a_run_of_an_earlier_version_goes_on(stopped: Path, whole: Path, recipe: Recipe) -> None:
    """It has no checksums, but those that were asked of it then: fingerprints of its pairs."""
    for path in stopped.rglob("SHA256SUMS"):
        path.unlink()
    log = stopped / "log.jsonl"
    log.write_text(re.sub(r', "crc32": "\w+"', "", log.read_text()))
    assert '"crc32"' not in log.read_text()
    train(recipe, stopped, resume=True)
    assert compare(stopped, whole) == []
    assert len(Run.open(stopped).read_log("validation")) == 3


class TestBegunTwice:
    def test_at_the_same_moment(self, whole: Path, tmp_path: Path) -> None:
        """One has the folder, from the first file on; the other one has changed nothing in it."""
        settings = little_settings(whole.parent / "data", *SHORT, *QUICK)
        for attempt in range(4):
            folder = tmp_path / str(attempt)
            begin = os.pipe()
            children = {}
            for seed in (1, 2):
                child = os.fork()
                if child == 0:
                    status = 70
                    try:
                        os.read(begin[0], 1)
                        recipe = load_recipe(None, [*settings, f"seed={seed}"])
                        train(recipe, folder, command=[str(seed)], report=silent)
                        status = 0
                    except HeedfulError as error:
                        said = "is in use by process" in error.message or "holds a run already" in error.message
                        status = 3 if said else 71
                    finally:
                        os._exit(status)
                children[child] = seed
            os.write(begin[1], b"gg")
            found = {seed: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child, seed in children.items()}
            assert sorted(found.values()) == [0, 3], found
            (winner,) = [seed for seed, status in found.items() if status == 0]
            run = Run.open(folder)
            assert (run.config()["seed"], run.environment()["command"]) == (winner, [str(winner)])
            assert run.state() == "complete"

    def test_another_recipe_where_the_first_checkpoint_was_written(self, recipe: Recipe, tmp_path: Path) -> None:
        """Killed before the checkpoint had its names: it is the first recipe's, and no other one may average it."""
        folder = tmp_path / "run"
        with pytest.raises(Interrupted):
            train(recipe, folder, report=signalling(signal.SIGTERM, "validation", 10))
        for name in ("last", "best"):
            (folder / "checkpoints" / name).unlink()
        with pytest.raises(ConfigError, match="holds a run already"):
            train(recipe.model_copy(update={"seed": 2}), folder)

    def test_a_run_that_is_begun_anew_has_no_former_checkpoints(self, recipe: Recipe, tmp_path: Path) -> None:
        """Killed while the first checkpoint was written, so that nothing is lost: only what is new is kept."""
        folder = tmp_path / "run"
        with pytest.raises(Interrupted):
            train(recipe, folder, report=signalling(signal.SIGINT, "tokenizers"))
        (folder / "checkpoints" / ".update-00000010.1.partial").mkdir(parents=True)
        (folder / "checkpoints" / "note").write_text("of the former beginning")
        train(recipe.model_copy(update={"seed": 2}), folder)
        names = sorted(path.name for path in (folder / "checkpoints").iterdir())
        assert names == ["best", "last", "update-00000010", "update-00000020", "update-00000024"]
        assert Run.open(folder).config()["seed"] == 2

    def test_a_refusal_leaves_no_folder(self, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(*_arguments: object) -> None:
            raise ConfigError("no")

        monkeypatch.setattr("heedful.pipeline.train.with_resolved_precision", refused)
        with pytest.raises(ConfigError, match="no"):
            train(recipe, tmp_path / "new" / "run")
        assert list(tmp_path.iterdir()) == []


class TestGoingOn:
    def test_a_finished_run_that_is_interrupted_again(
        self, whole: Path, tmp_path: Path, recipe: Recipe, heedful: Callable
    ) -> None:
        """Its scores are of the model that it has, and it is said that training has gone on since."""
        run = Path(shutil.copytree(whole, tmp_path / "run"))
        kept = {name: (run / name).read_bytes() for name in ("model/" + FILE, "results.csv", "outputs/test.jsonl")}
        longer = recipe.model_copy(update={"training": recipe.training.model_copy(update={"max_updates": 40})})
        with pytest.raises(Interrupted):
            train(longer, run, resume=True, report=signalling(signal.SIGINT, "train", 28))
        (listed,) = json.loads(heedful("runs", "list", str(run), "--json").out)
        shown = json.loads(heedful("runs", "show", str(run), "--json").out)
        for facts in (listed, shown):
            assert facts["state"] == "incomplete: trained to update 28, but scored at 24"
        assert {name: (run / name).read_bytes() for name in kept} == kept
        train(longer, run, resume=True)
        assert Run.open(run).state() == "complete"
        assert not (run / "log.dropped.jsonl").exists()

    def test_limits_that_are_not_named_stay(self, whole: Path, tmp_path: Path, heedful: Callable) -> None:
        """Whether the run is named or its recipe; what is named wins, and all of it is said."""
        settings = [*little_settings(whole.parent / "data", *SHORT), f"run={tmp_path / 'run'}"]
        first = load_recipe(None, [*settings, "training.max_minutes=50"])
        with pytest.raises(Interrupted):
            train(first, tmp_path / "run", report=signalling(signal.SIGTERM, "train", 8))
        told: list[Mapping[str, Any]] = []

        def report(event: str, facts: Mapping[str, Any]) -> None:
            told.extend([facts] if event == "resumed" else [])
            signal_at(event, facts)

        signal_at = signalling(signal.SIGTERM, "train", 16)
        with pytest.raises(Interrupted):
            train(load_recipe(None, settings), tmp_path / "run", resume=True, report=report)
        assert Run.open(tmp_path / "run").config()["training"]["max_minutes"] == 50
        expected = {"from": "update-00000008", "done": 8, "max_updates": 24, "max_minutes": 50, "changed": []}
        assert {key: told[0][key] for key in expected} == expected
        outcome = heedful("train", *settings, "--resume", "--max-minutes", "60")
        assert outcome.code == 0, outcome.err
        said = "going on from update 16, up to 24, or 60 minutes of training in all; changed: training.max_minutes"
        assert said in outcome.err.splitlines()


class TestDivergence:
    """The weights are spoilt by the last update, whose loss was still a number."""

    @pytest.fixture
    def spoilt_at(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, float], None]:
        update_of = Trainer.update

        def spoil_at(spoilt: int, number: float) -> None:
            def update(self: Trainer, update: int, batch_at: Any) -> Any:
                done = update_of(self, update, batch_at)
                if update == spoilt:
                    with torch.no_grad():
                        next(self.model.parameters())[0, 0] = number
                return done

            monkeypatch.setattr(Trainer, "update", update)

        return spoil_at

    @pytest.mark.parametrize("number", [float("nan"), float("inf")])
    @pytest.mark.parametrize("update", [20, 24])
    def test_is_said_and_nothing_is_written(
        self, update: int, number: float, recipe: Recipe, tmp_path: Path, spoilt_at: Callable[[int, float], None]
    ) -> None:
        spoilt_at(update, number)
        with pytest.raises(
            Diverged, match=f"diverged at update {update}: .* has numbers that are not finite"
        ) as caught:
            train(recipe, tmp_path / "run")
        assert "Halve training.learning_rate" in (caught.value.hint or "")
        run = Run.open(tmp_path / "run")
        before = update // 10 * 10 - 10 * (update % 10 == 0)
        assert (run.checkpoints / "last").read_text() == f"update-{before:08d}\n"
        assert [event["update"] for event in run.read_log("validation")][-1] == before
        for folder in run.checkpoints.glob("update-*"):
            assert all(tensor.isfinite().all() for tensor in read_tensors(folder / FILE).values())

    def test_at_an_interruption(self, recipe: Recipe, tmp_path: Path, spoilt_at: Callable[[int, float], None]) -> None:
        spoilt_at(16, float("nan"))
        with pytest.raises(Diverged, match="at update 16"):
            train(recipe, tmp_path / "run", report=signalling(signal.SIGTERM, "train", 16))
        assert (tmp_path / "run" / "checkpoints" / "last").read_text() == "update-00000010\n"

    def test_a_dev_loss_that_is_none(self, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of weights that are finite: outputs are not even looked for, and nothing is kept of them."""
        loss_of = train_module.compute_loss

        def compute_loss(*given: Any) -> Any:
            loss = loss_of(*given)
            return loss._replace(nll=loss.nll * torch.nan)

        monkeypatch.setattr(train_module, "compute_loss", compute_loss)
        with pytest.raises(Diverged, match="at update 10: the loss of dev is nan"):
            train(recipe, tmp_path / "run")
        assert not (tmp_path / "run" / "checkpoints").exists()
        assert Run.open(tmp_path / "run").read_log("validation") == []


def test_an_evaluation_is_counted(whole: Path, tmp_path: Path, heedful: Callable) -> None:
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    said = [heedful("evaluate", str(run)).err for _ in range(2)]
    for times, text in zip((2, 3), said, strict=True):
        assert f"test has been scored {times} times with this run, the end of its training included." in text
        assert "Choose by dev, and score test once." in text
    assert "dev has been" not in heedful("evaluate", str(run), "--split", "dev").err
    assert "dev has been scored 2 times" in heedful("evaluate", str(run), "--split", "dev").err
    assert json.loads(heedful("evaluate", str(run), "--json").out)["times_scored"] == 4


def test_records_that_were_changed_are_refused(tmp_path: Path, heedful: Callable) -> None:
    """A digit of a score, of an output or of the configuration; the way out is said."""
    run = little_run(tmp_path)
    for name, verb in (
        ("results.csv", ("runs", "show", str(run))),
        ("outputs/test.jsonl", ("compare", str(run), str(run))),
        ("errors.jsonl", ("runs", "show", str(run))),
        ("environment.json", ("runs", "show", str(run))),
        ("config.resolved.toml", ("train", "--resume", str(run))),
        ("log.jsonl", ("evaluate", str(run))),
    ):
        whole = (run / name).read_bytes()
        place = next(place for place in range(len(whole) // 2, len(whole)) if chr(whole[place]).isdigit())
        digit = b"1" if whole[place : place + 1] != b"1" else b"2"
        (run / name).write_bytes(whole[:place] + digit + whole[place + 1 :])
        outcome = heedful(*verb)
        assert outcome.code == 1, (name, outcome)
        assert "is damaged: it is not as it was written" in outcome.err, (name, outcome.err)
        if name in ("results.csv", "log.jsonl"):  # all that a table of runs reads
            (listed,) = json.loads(heedful("runs", "list", str(tmp_path), "--json").out)
            assert listed["state"].startswith("damaged: "), name
        (run / name).write_bytes(whole)
        assert heedful(*verb).code == 0
