"""The table of the attention family: its plan loads, its verdicts follow the stated rule, and its runs bear it out."""

import json
import statistics
import sys
from typing import Any

import pytest
from tests.house.source import ROOT

from heedful.recipe.recipe import load_recipe

sys.path.insert(0, str(ROOT / "experiments"))
from family import Planned, read_plan
from family_evidence import EVIDENCE
from family_table import Sample, markdown, pooled, summarise, verdict

FOLDER = ROOT / "experiments" / "family"
PLAN = read_plan()
ARMS = [(key, arm) for key, system in PLAN.items() for arm in system["arms"]]
SYSTEMS = range(1, 19)  # of the family, as `docs/attention/README.md` counts them


def judged(system: list[float], baseline: list[float], **changes: Any) -> str:
    rule = {"higher_is_better": True, "minimum": 0.0, "not_worse": False, **changes}
    return verdict(Sample(system), Sample(baseline), **rule)


def test_pooled_deviation_by_hand() -> None:
    # (1 + 0 + 1) and (4 + 0 + 4) over 2 + 2 degrees of freedom: sqrt(10 / 4)
    assert pooled(Sample([1, 2, 3]), Sample([2, 4, 6])) == pytest.approx(2.5**0.5)
    assert pooled(Sample([1]), Sample([2])) == float("inf")


def test_verdicts() -> None:
    assert judged([10, 11, 12], [1, 2, 3]) == "yes"
    assert judged([1, 2, 3], [10, 11, 12]) == "no"
    assert judged([10, 11, 12], [9, 10, 11]) == "not resolved"  # 1 point, but 2 deviations are 2
    assert judged([1, 2, 3], [10, 11, 12], higher_is_better=False) == "yes"
    assert judged([10, 10, 10], [9, 9, 9], minimum=2.0) == "not resolved"
    assert judged([10, 11], [1, 2, 3]) == "fewer than three seeds"
    assert judged([9, 10, 11], [10, 11, 12], not_worse=True) == "yes (not worse)"
    assert judged([1, 2, 3], [10, 11, 12], not_worse=True) == "no"


def test_every_system_has_its_place() -> None:
    assert {system["number"] for system in PLAN.values()} == set(SYSTEMS)


@pytest.mark.parametrize(("key", "arm"), ARMS, ids=[f"{key}, {arm}" for key, arm in ARMS])
def test_every_arm_has_a_recipe_that_loads(key: str, arm: str) -> None:
    system = PLAN[key]
    planned = Planned(system, arm, 2)
    recipe = load_recipe(ROOT / planned.recipe, planned.settings(None))
    assert recipe.seed == 2
    assert recipe.training.threads == 1
    assert system["metric"] in recipe.evaluation.metrics
    assert recipe.training.precision != "auto"  # or two machines would train two models
    assert set(system.get("evidence", {}).get(arm, ())) <= EVIDENCE.keys()


def test_the_table_is_that_of_the_runs() -> None:
    result = json.loads((FOLDER / "result.json").read_text("utf-8"))
    stored = json.loads((FOLDER / "table.json").read_text("utf-8"))
    assert stored == summarise(PLAN, result["runs"], result["refused"])
    assert (FOLDER / "table.md").read_text("utf-8") == "\n".join(markdown(stored)) + "\n"
    for entry in stored:
        for name, arm in entry["arms"].items():
            values = [
                score["value"]
                for run in result["runs"]
                if (run["system"], run["arm"]) == (entry["key"], name)
                for score in run["scores"]
                if score["metric"] == entry["metric"]
            ]
            assert statistics.fmean(values) == pytest.approx(statistics.fmean(arm["values"]))
