"""Every experiment that is kept says how it was made, and can be made again."""

import json
import re
from pathlib import Path

import pytest
from tests.house.source import ROOT

from heedful.recipe.recipe import load_recipe

OF_NO_MODEL = {"faults"}  # experiments that score none; tests/pipeline/test_faults.py reads their result
RESULTS = sorted(path for path in (ROOT / "experiments").glob("*/result.json") if path.parent.name not in OF_NO_MODEL)
RUN_KEYS = {"run", "seed", "parameters", "updates", "minutes", "threads", "machine", "recipe", "overrides", "scores"}
SCORE_KEYS = {"split", "metric", "value", "ci_low", "ci_high", "n", "signature"}


def test_every_folder_of_experiments_has_its_result() -> None:
    others = {"__pycache__", *OF_NO_MODEL}
    folders = [path for path in (ROOT / "experiments").iterdir() if path.is_dir() and path.name not in others]
    assert sorted(path / "result.json" for path in folders) == RESULTS


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.parent.name)
class TestResult:
    def test_says_how_it_was_made(self, path: Path) -> None:
        result = json.loads(path.read_text("utf-8"))
        own = ROOT / "experiments" / f"{path.parent.name}.py"  # an experiment may have a runner of its own
        runner = f"experiments/{own.name}" if own.is_file() else f"experiments/repeat.py {path.parent.name}"
        assert runner in result["command"]
        assert result["runs"]
        for run in result["runs"]:
            assert run.keys() >= RUN_KEYS
            assert run["scores"]
            for score in run["scores"]:
                assert score.keys() >= SCORE_KEYS
                assert score["signature"]
                assert score["ci_low"] <= score["value"] <= score["ci_high"]

    def test_recipes_still_load(self, path: Path) -> None:
        for run in json.loads(path.read_text("utf-8"))["runs"]:
            assert load_recipe(ROOT / run["recipe"], run["overrides"]).seed == run["seed"]

    def test_table_holds_the_same_scores(self, path: Path) -> None:
        if path.with_name("table.json").is_file():
            pytest.skip("a table of means; tests/house/test_family.py counts it again")
        table = path.with_name("table.md").read_text("utf-8")
        for run in json.loads(path.read_text("utf-8"))["runs"]:
            (row,) = [line for line in table.splitlines() if re.match(rf"\|\s*{re.escape(run['run'])}\s*\|", line)]
            for score in run["scores"]:
                assert f"{score['value']:.2f}" in row
