"""From a folder to a translator: by run, by bundle, and what is said of anything else."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import SUBWORDS, little_run

import heedful
from heedful.errors import HeedfulError, Interrupted
from heedful.pipeline import train as train_module
from heedful.pipeline.load import load, load_ensemble, recipe_of
from heedful.training.checkpoint import CheckpointFolder


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
        shutil.rmtree(folder / "checkpoints")
    elif damage == "cut off":
        weights.write_bytes(weights.read_bytes()[:-10])
    elif damage == "no weights":
        weights.unlink()
    with pytest.raises(HeedfulError, match=message) as caught:
        load(folder)
    assert hint in str(caught.value.hint)


class TestUnfinished:
    """A run that was interrupted has no model, but a best checkpoint, and that is used and said."""

    @pytest.fixture
    def unfinished(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        def interrupted(*_arguments: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(train_module, "finish", interrupted)
            with pytest.raises(Interrupted):
                little_run(tmp_path, "training.average_last=0")
        return tmp_path / "run"

    def test_is_what_it_will_be(self, unfinished: Path, heedful: Callable) -> None:
        best = CheckpointFolder(unfinished / "checkpoints", keep=1).best()
        assert best is not None
        (unfinished.parent / "text").write_text("a b c\nx y z\n")
        arguments = ("translate", str(unfinished), str(unfinished.parent / "text"))
        early = heedful(*arguments)
        said = f"The run {unfinished} has no finished model: this is its best checkpoint so far, {best.name}."
        assert early.code == 0, early.err
        assert said in early.err.splitlines()
        assert load(unfinished).score(["a b"], ["b a"])[0].log_p < 0
        assert heedful("train", "--resume", str(unfinished)).code == 0
        late = heedful(*arguments)
        assert late.out == early.out
        assert "no finished model" not in late.err

    def test_its_scores_are_printed_and_counted_but_not_kept(self, unfinished: Path, heedful: Callable) -> None:
        before = sorted(path.name for path in unfinished.iterdir())
        outcomes = [heedful("evaluate", str(unfinished), "--json") for _ in range(2)]
        assert [outcome.code for outcome in outcomes] == [0, 0], outcomes[0].err
        assert "no finished model" in outcomes[0].err
        assert [json.loads(outcome.out)["times_scored"] for outcome in outcomes] == [1, 2]
        assert json.loads(outcomes[0].out)["run"] is None
        assert sorted(path.name for path in unfinished.iterdir()) == before

    @pytest.mark.parametrize("verb", ["align", "inspect"])
    def test_other_verbs_say_so(self, verb: str, unfinished: Path, heedful: Callable) -> None:
        pairs = unfinished.parent / "pairs.tsv"
        pairs.write_text("a b\tb a\n")
        outcome = heedful(verb, str(unfinished), "a b" if verb == "inspect" else str(pairs))
        assert outcome.code == 0, outcome.err
        assert "no finished model" in outcome.err


def test_runs_of_two_seeds_are_an_ensemble(tmp_path: Path) -> None:
    """The same data and the same [tokenizer] give the same ids, whatever the seed of the weights."""
    first, second = (little_run(tmp_path / str(seed), f"seed={seed}", *SUBWORDS) for seed in (1, 2))
    both = load_ensemble(first, [second])
    log_p = [one.score(["a b"], ["b a"])[0].log_p for one in (load(first), load(second), both)]
    assert min(log_p[:2]) < log_p[2] < max(log_p[:2])
    assert both.search == load(first).search
