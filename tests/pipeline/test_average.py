"""The model of a finished run made anew from its checkpoints: their arithmetic mean, or the best of them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.pipeline.little import little_run

from heedful.errors import CheckFailed, ConfigError, HeedfulError
from heedful.models.weights import FILE, read_tensors
from heedful.pipeline.average import average_run
from heedful.records.run import Run
from heedful.training.checkpoint import CheckpointFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("run"), "training.max_updates=3", "training.average_last=0")


def test_mean_of_the_last_two_and_back(run: Path) -> None:
    best = (run / "model" / FILE).read_bytes()
    found = average_run(run, 2, force=True)
    checkpoints = CheckpointFolder(run / "checkpoints", keep=3).validated()
    assert [folder.name for folder in checkpoints] == ["update-00000001", "update-00000002", "update-00000003"]
    one, other = (read_tensors(folder / FILE) for folder in checkpoints[-2:])
    for name, tensor in read_tensors(run / "model" / FILE).items():
        torch.testing.assert_close(tensor, (one[name] + other[name]) / 2)
    final = [row for row in Run.open(run).read_results() if row.split == "test"]
    assert {row.checkpoint for row in final} == {"average-of-2"}
    assert [score.value for score in found.scores] == [row.value for row in final]
    assert Run.open(run).state() == "complete"
    card = (run / "model" / "README.md").read_text("utf-8")
    assert "average-of-2" in card
    assert all(f"`{row.signature}`" in card for row in final)
    average_run(run, 0)
    assert (run / "model" / FILE).read_bytes() == best


def test_a_worse_one_replaces_nothing(run: Path) -> None:
    """Three updates, each of which lowers the loss of dev: the mean of the last two is worse than the last."""
    losses = [event["loss"] for event in Run.open(run).read_log("validation")]
    assert losses == sorted(losses, reverse=True)
    average_run(run, 0)
    before = contents(run)
    with pytest.raises(CheckFailed, match=r"average-of-2 is worse on dev .*: loss \d\.\d{4} against") as caught:
        average_run(run, 2)
    assert f"against {losses[-1]:.4f}" in caught.value.message
    assert "--force" in (caught.value.hint or "")
    assert contents(run) == before
    average_run(run, 2, force=True)
    average_run(run, 0)  # a better one needs no force
    assert contents(run)["model/" + FILE] == before["model/" + FILE]


def contents(run: Path) -> dict[str, bytes]:
    """Every file but the log."""
    paths = [path for path in run.rglob("*") if path.is_file()]
    return {str(path.relative_to(run)): path.read_bytes() for path in paths if path.name not in ("log.jsonl", ".lock")}


def test_outputs_of_other_splits_are_of_the_former_model(run: Path, heedful: Callable) -> None:
    assert heedful("evaluate", str(run), "--split", "dev").code == 0
    assert (run / "outputs" / "dev.jsonl").is_file()
    average_run(run, 2, force=True)
    assert sorted(path.name for path in (run / "outputs").iterdir()) == ["test.jsonl"]
    average_run(run, 0)


def test_without_the_last_checkpoint(tmp_path: Path) -> None:
    """Training cannot go on, but what is left is worth a model."""
    run = little_run(tmp_path, "training.max_updates=3", "training.average_last=0")
    shutil.rmtree(run / "checkpoints" / "update-00000003")
    with pytest.raises(HeedfulError, match="names update-00000003") as caught:
        average_run(run, 0)
    assert "heedful average" in (caught.value.hint or "")
    average_run(run, 2, force=True)
    assert {row.checkpoint for row in Run.open(run).read_results() if row.split == "test"} == {"average-of-2"}


def test_more_than_there_are(run: Path) -> None:
    with pytest.raises(HeedfulError, match="has 3 validated checkpoints, but 4 are to be averaged") as caught:
        average_run(run, 4)
    assert "keep_last" in str(caught.value.hint)


def test_while_the_run_is_in_use(run: Path) -> None:
    with Run.open(run), pytest.raises(HeedfulError, match="in use by process"):
        average_run(run, 1)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run directory"):
        average_run(tmp_path, 1)


def test_what_cannot_be_scored_replaces_nothing(tmp_path: Path) -> None:
    """The test set is gone, so there are no new scores: model and results still belong together."""
    run = little_run(tmp_path / "here", "training.max_updates=3", "training.average_last=0")
    kept = ("model/" + FILE, "model/recipe.toml", "results.csv")
    before = [(run / name).read_bytes() for name in kept]
    (test,) = (tmp_path / "here").rglob("test.tsv")
    test.unlink()
    with pytest.raises(HeedfulError, match=r"test\.tsv"):
        average_run(run, 2, force=True)
    assert [(run / name).read_bytes() for name in kept] == before
