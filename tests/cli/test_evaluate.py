"""`heedful evaluate` on a tiny model that was trained for two updates: what it prints, stores and refuses."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe
from heedful.records.run import Run
from heedful.records.signature import parse_signature

WORDS = {"cat": "K AE T", "tack": "T AE K", "act": "AE K T", "at": "AE T", "tact": "T AE K T"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    lines = [f"{word}\t{sound}\n" for word, sound in WORDS.items()]
    for name, part in (("train.tsv", lines), ("dev.tsv", lines[:2]), ("test.tsv", lines[2:])):
        (folder / name).write_text("".join(part))
    settings = [
        "preset=character",
        *(f"data.{split}=['{folder / split}.tsv']" for split in ("train", "dev", "test")),
        "data.allow_overlap=true",
        "model.d_model=16",
        "model.n_heads=2",
        "model.d_ff=16",
        "model.n_encoder_layers=1",
        "model.n_decoder_layers=1",
        "training.max_updates=2",
        "training.warmup_steps=1",
        "training.validate_every=2",
        "training.average_last=0",
        "search.max_extra=4",
        "evaluation.metrics=['wer', 'per']",
        "evaluation.bootstrap_samples=20",
    ]
    train(load_recipe(None, settings), folder / "run")
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the trained run that a test may change."""
    return Path(shutil.copytree(trained / "run", tmp_path / "run"))


class TestSplit:
    def test_json_and_what_is_stored(self, run: Path, heedful: Callable) -> None:
        outcome = heedful("evaluate", str(run), "--split", "dev", "--json")
        assert outcome.code == 0, outcome.err
        facts = json.loads(outcome.out)
        assert (facts["split"], facts["n"], facts["run"]) == ("dev", 2, str(run))
        assert [score["metric"] for score in facts["scores"]] == ["wer", "per"]
        opened = Run.open(run)
        rows = [row for row in opened.read_results() if row.split == "dev" and row.signature]
        assert [(row.metric, row.value) for row in rows] == [(s["metric"], s["value"]) for s in facts["scores"]]
        assert {parse_signature(row.signature).data for row in rows} == {facts["data"]}
        assert [item.source for item in opened.read_outputs("dev")] == ["cat", "tack"]
        assert {row["id"].rpartition("-")[0] for row in opened.read_errors()} == {"test", "dev"}
        assert opened.state() == "complete"

    def test_again_gives_the_same_and_keeps_one_row(self, run: Path, heedful: Callable) -> None:
        """The run's own final evaluation went the same way."""
        before = [row for row in Run.open(run).read_results() if row.signature]
        assert heedful("evaluate", str(run)).code == 0
        after = [row for row in Run.open(run).read_results() if row.signature]
        assert [row._replace(seconds=0) for row in after] == [row._replace(seconds=0) for row in before]

    def test_text(self, run: Path, heedful: Callable) -> None:
        outcome = heedful("evaluate", str(run))
        header, wer, per = outcome.out.splitlines()
        assert header.split() == ["metric", "value", "95", "%", "interval", "n", "signature"]
        assert wer.startswith("wer")
        assert "unit:line" in wer
        assert per.startswith("per")
        assert "of 3 lines are not exactly right" in outcome.err

    def test_other_settings_are_in_the_signature(self, run: Path, heedful: Callable) -> None:
        arguments = ["search.beam=1", "evaluation.metrics=['exact']"]
        facts = json.loads(heedful("evaluate", str(run), *arguments, "--json").out)
        assert [score["metric"] for score in facts["scores"]] == ["exact"]
        row = Run.open(run).read_results()[-1]
        assert "beam=1," in parse_signature(row.signature).decode
        assert (row.metric, row.checkpoint) == ("exact", Run.open(run).read_results()[-2].checkpoint)

    def test_bundle_inside_a_run_belongs_to_the_run(self, run: Path, heedful: Callable) -> None:
        assert json.loads(heedful("evaluate", str(run / "model"), "--json").out)["run"] == str(run)

    def test_bundle_alone_stores_nothing(self, run: Path, tmp_path: Path, heedful: Callable) -> None:
        alone = Path(shutil.copytree(run / "model", tmp_path / "alone"))
        files = sorted(path.name for path in alone.iterdir())
        assert json.loads(heedful("evaluate", str(alone), "--json").out)["run"] is None
        assert sorted(path.name for path in alone.iterdir()) == files

    def test_setting_that_the_weights_depend_on(self, run: Path, heedful: Callable) -> None:
        outcome = heedful("evaluate", str(run), "model.d_model=32")
        assert (outcome.code, outcome.out) == (2, "")
        assert "`model` cannot be changed after training." in outcome.err
        assert "data, evaluation, search" in outcome.err

    def test_split_that_is_not_there(self, run: Path, heedful: Callable) -> None:
        outcome = heedful("evaluate", str(run), "--split", "final")
        assert outcome.code == 2
        assert "There is no final split" in outcome.err

    def test_run_in_use(self, run: Path, heedful: Callable) -> None:
        with Run.open(run):
            outcome = heedful("evaluate", str(run))
        assert outcome.code == 1
        assert "in use by process" in outcome.err

    def test_no_model(self, tmp_path: Path, heedful: Callable) -> None:
        outcome = heedful("evaluate", str(tmp_path))
        assert outcome.code == 2
        assert "is neither a bundle nor a run directory" in outcome.err


class TestOwnFiles:
    def test_several_references(self, run: Path, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "mine.txt").write_text("cat\nat\n")
        (tmp_path / "one").write_text("K AE T\nAE T\n")
        (tmp_path / "two").write_text("C\nA T\n")
        before = Run.open(run).read_results()
        outcome = heedful(
            "evaluate", str(run), "--source", str(tmp_path / "mine.txt"),
            "--reference", str(tmp_path / "one"), "--reference", str(tmp_path / "two"), "--json",
        )  # fmt: skip
        facts = json.loads(outcome.out)
        assert (facts["split"], facts["n"], facts["run"]) == ("mine.txt", 2, None)
        assert all(score["signature"].startswith("nrefs:2|") for score in facts["scores"])
        assert Run.open(run).read_results() == before

    def test_one_without_the_other(self, run: Path, tmp_path: Path, heedful: Callable) -> None:
        outcome = heedful("evaluate", str(run), "--source", str(tmp_path / "mine.txt"))
        assert outcome.code == 2
        assert "--source and --reference belong together." in outcome.err

    def test_different_lengths(self, run: Path, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "mine.txt").write_text("cat\nat\n")
        (tmp_path / "one").write_text("K AE T\n")
        outcome = heedful(
            "evaluate", str(run), "--source", str(tmp_path / "mine.txt"), "--reference", str(tmp_path / "one")
        )
        assert outcome.code == 1
        assert f"{tmp_path / 'mine.txt'} has 2 lines, but {tmp_path / 'one'} has 1." in outcome.err

    def test_empty_file(self, run: Path, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "mine.txt").write_text("")
        outcome = heedful(
            "evaluate", str(run), "--source", str(tmp_path / "mine.txt"), "--reference", str(tmp_path / "mine.txt")
        )
        assert outcome.code == 1
        assert "mine.txt is empty" in outcome.err


class TestEnsemble:
    def test_of_itself_is_itself_and_is_not_kept(self, run: Path, heedful: Callable) -> None:
        alone = json.loads(heedful("evaluate", str(run), "--split", "dev", "--json").out)
        kept = (run / "results.csv").read_bytes()
        outcome = heedful("evaluate", str(run), "--split", "dev", "--ensemble", str(run / "model"), "--json")
        assert outcome.code == 0, outcome.err
        together = json.loads(outcome.out)
        assert together["scores"] == alone["scores"]
        assert (alone["run"], together["run"]) == (str(run), None)
        assert (run / "results.csv").read_bytes() == kept

    def test_mean_alone(self, run: Path, heedful: Callable) -> None:
        outcome = heedful("evaluate", str(run), "--ensemble-mean", "geometric")
        assert outcome.code == 2
        assert "--ensemble-mean without --ensemble." in outcome.err
