"""`heedful train`: what it prints, as text and as JSON, and what it leaves alone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import QUICK, little_settings

from heedful.records.run import Run


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    return little_settings(tmp_path / "data", *QUICK, f"run={tmp_path / 'run'}")


class TestTraining:
    def test_text(self, settings: list[str], tmp_path: Path, heedful: Callable) -> None:
        """Scores on standard output, everything else on standard error, and a next command that works."""
        outcome = heedful("train", *settings)
        assert outcome.code == 0, outcome.err
        rows = [line.split("\t") for line in outcome.out.splitlines()]
        assert [(row[0], row[1], row[4]) for row in rows] == [("test", "exact", "n=12"), ("test", "per", "n=12")]
        assert "validation at update 2: loss" in outcome.err
        assert "training ended (max_updates) after 2 of 2 updates" in outcome.err
        assert f"Try: heedful translate {tmp_path / 'run'} FILE" in outcome.err
        (tmp_path / "text").write_text("a b c\n")
        assert heedful("translate", str(tmp_path / "run"), str(tmp_path / "text")).code == 0

    def test_json(self, settings: list[str], tmp_path: Path, heedful: Callable) -> None:
        """One object, whose scores are those of results.csv."""
        outcome = heedful("train", *settings, "--json")
        assert outcome.code == 0, outcome.err
        facts = json.loads(outcome.out)
        run = tmp_path / "run"
        assert (facts["run"], facts["model"], facts["updates"], facts["ended"]) == (
            str(run),
            f"{run}/model",
            2,
            "max_updates",
        )
        stored = [row for row in Run.open(run).read_results() if row.split == "test"]
        assert [(s["metric"], s["value"], s["low"], s["high"], s["n"]) for s in facts["scores"]] == [
            (row.metric, row.value, row.ci_low, row.ci_high, row.n) for row in stored
        ]

    def test_max_minutes(self, settings: list[str], heedful: Callable) -> None:
        """One update takes longer than this; what is there then is validated, bundled and scored."""
        outcome = heedful("train", *settings, "training.max_updates=1000000", "--max-minutes", "0.000001", "--json")
        facts = json.loads(outcome.out)
        assert (facts["ended"], facts["updates"]) == ("max_minutes", 1)

    def test_recipe_file_gives_the_run_its_name(
        self, settings: list[str], tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "mine.toml").write_text("seed = 5\n")
        monkeypatch.chdir(tmp_path)
        without_run = [setting for setting in settings if not setting.startswith("run=")]
        assert json.loads(heedful("train", "mine.toml", *without_run, "--json").out)["run"] == "runs/mine"
        assert Run.open(Path("runs/mine")).config()["seed"] == 5


class TestDryRun:
    def test_json(self, settings: list[str], tmp_path: Path, heedful: Callable) -> None:
        outcome = heedful("train", *settings, "--dry-run", "--json")
        assert outcome.code == 0, outcome.err
        facts = json.loads(outcome.out)
        assert facts["recipe"]["model"]["d_model"] == 16
        # 30 shared symbols; projections, two matrices with biases, and norms of a layer of the encoder and the decoder.
        encoder = 4 * 16 * 16 + 2 * 16 * 16 + 32 + 2 * 32
        decoder = 8 * 16 * 16 + 2 * 16 * 16 + 32 + 3 * 32
        assert facts["parameters"] == 30 * 16 + encoder + decoder
        rows, width = facts["shapes"]["src"]
        assert rows * width <= 128
        assert facts["shapes"]["tgt_in"] == facts["shapes"]["tgt_out"] == facts["shapes"]["src"]
        assert 2 < facts["loss"] < 6  # log 30 is 3.4
        assert not (tmp_path / "run").exists()

    def test_text_is_a_recipe(self, settings: list[str], tmp_path: Path, heedful: Callable) -> None:
        """What is printed trains the same model when it is put into a file."""
        outcome = heedful("train", *settings, "--dry-run")
        assert outcome.code == 0, outcome.err
        assert "# parameters " in outcome.out
        (tmp_path / "again.toml").write_text(outcome.out)
        again = heedful("train", str(tmp_path / "again.toml"), "--dry-run")
        assert again.out == outcome.out

    def test_scheduled_sampling(self, settings: list[str], heedful: Callable) -> None:
        sampling = ["training.max_updates=40", "training.scheduled_sampling={kind='linear', c=0.01}"]
        outcome = heedful("train", *settings, *sampling, "--dry-run")
        assert outcome.code == 0, outcome.err
        last = outcome.out.splitlines()[-1]
        assert last.startswith(
            "# scheduled sampling: an input token stays that of the reference with probability 0.990 at update 1, "
        )
        assert last.endswith(", 0.600 at update 40")

    def test_leaves_a_run_alone(self, settings: list[str], tmp_path: Path, heedful: Callable) -> None:
        assert heedful("train", *settings).code == 0
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
        outcome = heedful("train", *settings, "--dry-run")
        assert f"# run directory        {tmp_path / 'run'} (exists)" in outcome.out
        assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


class TestOverfit:
    def test_text_and_json(
        self, settings: list[str], tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Few updates are enough to see what is printed; that they suffice is another test."""
        monkeypatch.setattr("heedful.pipeline.overfit.UPDATES", 10)
        monkeypatch.setattr("heedful.pipeline.overfit.ZERO", 100.0)
        outcome = heedful("train", *settings, "--overfit", "3", "--json")
        assert outcome.code == 0, outcome.err
        facts = json.loads(outcome.out)
        assert (facts["pairs"], facts["updates"], facts["still"]) == (3, 10, [])
        outcome = heedful("train", *settings, "--overfit", "3")
        assert outcome.out.splitlines()[1:] == [
            f"moved ({len(facts['moved'])}): {' '.join(facts['moved'])}",
            "did not move (0): none",
        ]
        assert not (tmp_path / "run").exists()

    def test_pairs_that_cannot_be_learned(
        self, settings: list[str], heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One update is not enough, and the model is not to blame; the exit code says that a check found something."""
        monkeypatch.setattr("heedful.pipeline.overfit.UPDATES", 1)
        outcome = heedful("train", *settings, "--overfit", "3")
        assert (outcome.code, outcome.out) == (3, "")
        assert "error: 3 pairs still have a loss of" in outcome.err
        assert "hint: Look, in this order, at: targets" in outcome.err
