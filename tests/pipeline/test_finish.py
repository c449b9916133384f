"""The end of a run: which weights are chosen, and that the evidence agrees with itself."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.little import little_run

from heedful.errors import HeedfulError, Interrupted
from heedful.models.weights import FILE
from heedful.pipeline.evaluate_split import score_test_set
from heedful.pipeline.finish import choose
from heedful.pipeline.load import load
from heedful.pipeline.train import train
from heedful.recipe.recipe import stored_recipe
from heedful.records.run import Run
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.progress import read_progress


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    settings = ("training.max_updates=5", "training.average_last=0", "training.select=per")
    return Run.open(little_run(tmp_path_factory.mktemp("run"), *settings))


def test_best_is_what_the_log_says(run: Run) -> None:
    """The first of the validations with the lowest error rate, and its very weights."""
    validations = run.read_log("validation")
    best = min(validations, key=lambda event: event["per"])["update"]
    chosen = choose(CheckpointFolder(run.checkpoints, keep=3), 0)
    assert (chosen.name, chosen.update) == (f"update-{best:08d}", best)
    assert (run.bundle / FILE).read_bytes() == chosen.files[0].read_bytes()
    assert {row.checkpoint for row in run.read_results() if row.split == "test"} == {chosen.name}


def test_mean_of_the_last_validated(run: Run) -> None:
    folder = CheckpointFolder(run.checkpoints, keep=3)
    chosen = choose(folder, 2)
    assert [path.parent.name for path in chosen.files] == ["update-00000004", "update-00000005"]
    assert (chosen.name, chosen.update) == ("average-of-2", 5)
    assert all(read_progress(path.parent).validated for path in chosen.files)


def test_results_hold_every_validation(run: Run) -> None:
    rows = [row for row in run.read_results() if row.split == "dev"]
    for event in run.read_log("validation"):
        found = {row.metric: row.value for row in rows if row.update == event["update"]}
        assert found == {name: event[name] for name in ("loss", "perplexity", "exact", "per")}
    n = {row.metric: row.n for row in rows}
    assert (n["exact"], n["per"]) == (8, 8)  # the decoded sample; losses count tokens of all twelve
    assert n["loss"] == n["perplexity"] == sum(len(line.split()) + 1 for line in targets(run, "dev"))


def targets(run: Run, split: str) -> list[str]:
    lines = (run.folder.parent / "data" / f"{split}.tsv").read_text().splitlines()
    return [line.split("\t")[1] for line in lines]


def test_outputs_are_the_bundles_own(run: Run) -> None:
    outputs = run.read_outputs("test")
    assert [item.references for item in outputs] == [[line] for line in targets(run, "test")]
    found = load(run.folder).translate([item.source for item in outputs])
    assert [item.output for item in outputs] == [one.text for one in found]
    wrong = {item.id for item in outputs if item.output not in item.references}
    assert {row["id"] for row in run.read_errors()} == wrong
    exact = next(row.value for row in run.read_results() if (row.split, row.metric) == ("test", "exact"))
    assert exact == pytest.approx(100 * (1 - len(wrong) / len(outputs)))


def test_manifest_has_every_pair_once(run: Run) -> None:
    rows = list(run.read_manifest())
    assert {split: sum(row.split == split for row in rows) for split in ("train", "dev", "test")} == {
        "train": 200,
        "dev": 12,
        "test": 12,
    }
    assert len({row.id for row in rows}) == len(rows) == 224


def test_card_says_what_it_is(run: Run) -> None:
    card = (run.bundle / "README.md").read_text()
    parameters = run.read_log("preflight")[0]["parameters"]
    for fact in (f"{parameters:,} parameters", "`train.tsv`", "with seed 1", "post-norm"):
        assert fact in card
    assert not list(run.bundle.glob("*.arrow"))


def test_card_has_the_scores_of_the_records(run: Run) -> None:
    card = (run.bundle / "README.md").read_text()
    final = [row for row in run.read_results() if row.split == "test"]
    assert {row.metric for row in final} == {"exact", "per"}
    for row in final:
        assert f"`{row.signature}`" in card
        assert f"| {row.value:.2f} | {row.ci_low:.2f} to {row.ci_high:.2f} | {row.n} | test |" in card
    assert "- Pairs: 200 to train on, 12 to choose the checkpoint by." in card


def test_card_before_the_scores_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped while the finished model is scored, the bundle says that it was not; going on puts the scores there."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("heedful.pipeline.finish.score_test_set", stop)
    with pytest.raises(Interrupted):
        little_run(tmp_path)
    monkeypatch.undo()
    card = tmp_path / "run" / "model" / "README.md"
    assert "Not measured yet." in card.read_text()
    train(stored_recipe(tmp_path / "run"), tmp_path / "run", resume=True)
    assert "Not measured yet." not in card.read_text()
    assert "| test |" in card.read_text()


def test_a_card_that_cannot_be_written_leaves_the_former(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when the scores are known: the card that says less is whole, and the run can go on."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def scored(*given: Any) -> Any:
        monkeypatch.setattr("heedful.text.atomic_files.os.fsync", full)
        return score_test_set(*given)

    monkeypatch.setattr("heedful.pipeline.finish.score_test_set", scored)
    with pytest.raises(HeedfulError, match=r"The disk is full: .*/model could not be written"):
        little_run(tmp_path)
    monkeypatch.undo()
    folder = tmp_path / "run" / "model"
    assert "Not measured yet." in (folder / "README.md").read_text()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
