"""The model of a finished run made anew from its checkpoints: their arithmetic mean, or the best of them."""

from pathlib import Path

import pytest
import torch
from tests.pipeline.little import little_run

from heedful.errors import ConfigError, HeedfulError
from heedful.models.weights import FILE, read_tensors
from heedful.pipeline.average import average_run
from heedful.records.run import Run
from heedful.training.checkpoint import CheckpointFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("run"), "training.max_updates=3", "training.average_last=0")


def test_mean_of_the_last_two_and_back(run: Path) -> None:
    best = (run / "model" / FILE).read_bytes()
    found = average_run(run, 2)
    checkpoints = CheckpointFolder(run / "checkpoints", keep=3).validated()
    assert [folder.name for folder in checkpoints] == ["update-00000001", "update-00000002", "update-00000003"]
    one, other = (read_tensors(folder / FILE) for folder in checkpoints[-2:])
    for name, tensor in read_tensors(run / "model" / FILE).items():
        torch.testing.assert_close(tensor, (one[name] + other[name]) / 2)
    final = [row for row in Run.open(run).read_results() if row.split == "test"]
    assert {row.checkpoint for row in final} == {"average-of-2"}
    assert [score.value for score in found.scores] == [row.value for row in final]
    assert Run.open(run).state() == "complete"
    average_run(run, 0)
    assert (run / "model" / FILE).read_bytes() == best


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
        average_run(run, 2)
    assert [(run / name).read_bytes() for name in kept] == before
