"""From a folder to a translator: by run, by bundle, and what is said of anything else."""

import shutil
from pathlib import Path

import pytest
from tests.pipeline.little import SUBWORDS, little_run

import heedful
from heedful.errors import HeedfulError
from heedful.pipeline.load import load, load_ensemble, recipe_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("run"))


def test_run_and_bundle_are_one_model(run: Path, tmp_path: Path) -> None:
    """A bundle needs nothing of the run that it came from."""
    alone = Path(shutil.copytree(run / "model", tmp_path / "elsewhere"))
    lines = ["a b c", "x y z"]
    outputs = [load(path).translate(lines) for path in (run, run / "model", str(alone))]
    assert outputs[0] == outputs[1] == outputs[2]
    assert heedful.load(run).translate(lines) == outputs[0]


def test_searches_as_it_was_evaluated(run: Path) -> None:
    assert load(run).search == recipe_of(run).search
    assert recipe_of(run).search.beam == 2


@pytest.mark.parametrize(
    ("damage", "message", "hint"),
    [
        ("missing", "There is no ", "Name a run directory"),
        ("empty", "is neither a bundle nor a run directory", "bundle.toml and model.safetensors"),
        ("unfinished", "has no model yet", "heedful train --resume"),
        ("cut off", "is damaged", "Copy it again"),
        ("no weights", "There is no ", "Is this folder a bundle"),
    ],
)
def test_what_is_no_model(damage: str, message: str, hint: str, run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    if damage == "empty":
        folder.mkdir()
    elif damage != "missing":
        shutil.copytree(run, folder)
    weights = folder / "model" / "model.safetensors"
    if damage == "unfinished":
        shutil.rmtree(folder / "model")
    elif damage == "cut off":
        weights.write_bytes(weights.read_bytes()[:-10])
    elif damage == "no weights":
        weights.unlink()
    with pytest.raises(HeedfulError, match=message) as caught:
        load(folder)
    assert hint in str(caught.value.hint)


def test_runs_of_two_seeds_are_an_ensemble(tmp_path: Path) -> None:
    """The same data and the same [tokenizer] give the same ids, whatever the seed of the weights."""
    first, second = (little_run(tmp_path / str(seed), f"seed={seed}", *SUBWORDS) for seed in (1, 2))
    both = load_ensemble(first, [second])
    log_p = [one.score(["a b"], ["b a"])[0].log_p for one in (load(first), load(second), both)]
    assert min(log_p[:2]) < log_p[2] < max(log_p[:2])
    assert both.search == load(first).search
