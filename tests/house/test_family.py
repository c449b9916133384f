"""The table of the attention family: its plan loads, its verdicts follow the stated rule, and its runs bear it out."""

import json
import statistics
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.house.source import ROOT

from heedful.data.config import DataConfig
from heedful.recipe.recipe import load_recipe
from heedful.records.outputs import Output

sys.path.insert(0, str(ROOT / "experiments"))
from family import Planned, read_plan
from family_evidence import EVIDENCE
from family_overlap import repeated, score_without
from family_table import comparisons_of, markdown, summarise
from family_verdicts import (
    BOTH_PERFECT,
    LEVEL,
    SEEDS,
    Rule,
    adjusted_for_many,
    compared,
    how_judged,
    judged,
    permutation_p,
)

FOLDER = ROOT / "experiments" / "family"
PLAN = read_plan()
ARMS = [(key, arm) for key, system in PLAN.items() for arm in system["arms"]]
SYSTEMS = range(1, 19)  # of the family, as `docs/attention/README.md` counts them


PLAIN = Rule(higher_is_better=True)


def verdict(system: list[float], baseline: list[float], rule: Rule = PLAIN) -> str:
    """Of one comparison that is the only one."""
    return judged([compared(("a", "b"), (system, baseline), rule)], [rule])[0].verdict


def test_permutation_by_hand() -> None:
    # Of the 6 ways to deal {1, 2, 3, 4} out in twos, {1, 2 | 3, 4} and its mirror differ by 2, and none by more.
    assert permutation_p([1, 2], [3, 4]) == pytest.approx(2 / 6)
    assert permutation_p([1, 4], [2, 3]) == 1  # the means are equal
    assert permutation_p([5, 5, 5], [5, 5, 5]) == 1
    # Two arms of 5 that do not overlap: only the two outermost of C(10, 5) = 252 ways.
    assert permutation_p([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == pytest.approx(2 / 252)
    # {1, 2, 3, 4, 6 | 5, 7, ..}: {1..5} lies further out, {1, 2, 3, 4, 6} as far: 2 ways, and 2 mirrors.
    assert permutation_p([1, 2, 3, 4, 6], [5, 7, 8, 9, 10]) == pytest.approx(4 / 252)


def test_permutation_as_scipy_has_it() -> None:
    rng = np.random.default_rng(1)
    for shift in (0.0, 0.5, 1.0, 2.0):
        one, other = rng.normal(shift, 1, 5), rng.normal(0, 1, 5)
        theirs = stats.permutation_test(
            (one, other), lambda a, b: a.mean() - b.mean(), n_resamples=np.inf, alternative="two-sided"
        )
        assert permutation_p(one.tolist(), other.tolist()) == pytest.approx(theirs.pvalue)


def test_adjusted_by_hand_and_as_scipy_has_it() -> None:
    # .01 * 4 / 1, .02 * 4 / 2 and .03 * 4 / 3 are all .04, and none may be above the next
    assert adjusted_for_many([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.04, 0.04, 0.5, 0.04])
    ps = np.random.default_rng(2).uniform(size=20)
    assert adjusted_for_many(ps.tolist()) == pytest.approx(stats.false_discovery_control(ps).tolist())
    assert adjusted_for_many([]) == []


def test_error_rate_of_the_test() -> None:
    """Two arms from one distribution are told apart in at most 5 of 100 cases."""
    rng = np.random.default_rng(3)
    wrong = sum(permutation_p(rng.normal(size=5).tolist(), rng.normal(size=5).tolist()) <= LEVEL for _ in range(500))
    assert wrong <= 0.05 * 500 + 3 * (500 * 0.05 * 0.95) ** 0.5


def test_verdicts() -> None:
    low, high = [1.0, 2, 3, 4, 5], [11.0, 12, 13, 14, 15]
    assert verdict(high, low) == "yes"
    assert verdict(low, high) == "no"
    assert verdict(low, high, Rule(higher_is_better=False)) == "yes"
    assert verdict([1.0, 12, 3, 14, 5], [2.0, 11, 4, 13, 6]) == "not resolved"
    assert verdict(high, low, PLAIN._replace(minimum=10.5)) == "not resolved"
    assert verdict(high[:3], low) == "no verdict: 3 of 5 seeds"
    assert verdict([99.9] * 5, [99.1] * 5) == BOTH_PERFECT
    assert verdict([0.2] * 5, [0.9] * 5, Rule(higher_is_better=False)) == BOTH_PERFECT
    assert verdict([99.9] * 5, [98.1] * 5) == "yes"


def test_verdict_on_what_is_not_worse() -> None:
    """It asks for evidence: what is noisy is not "not worse" for that."""
    rule = Rule(higher_is_better=True, minimum=2.0, not_worse=True)
    base = [50.0, 50.1, 50.2, 50.3, 50.4]
    assert verdict([value - 1 for value in base], base, rule) == "yes"
    assert verdict([value - 5 for value in base], base, rule) == "no"
    assert verdict([40.0, 60, 45, 55, 50], base, rule) == "not resolved"
    assert compared(("a", "b"), (base, base), rule).asked == "less than 2 points worse than"


def test_a_verdict_counts_how_many_are_made() -> None:
    """p of 4 / 252 alone is below 5 %; as one of four comparisons of which the others show nothing it is not."""
    one, other = [1.0, 2, 3, 4, 6], [5.0, 7, 8, 9, 10]
    nothing = compared(("c", "d"), ([1.0, 4, 5, 8, 9], [2.0, 3, 6, 7, 10]), PLAIN)
    found = compared(("a", "b"), (other, one), PLAIN)
    assert judged([found], [PLAIN])[0].verdict == "yes"
    several = judged([found, nothing, nothing, nothing], [PLAIN] * 4)
    assert several[0].adjusted == pytest.approx(4 * 4 / 252)
    assert several[0].verdict == "not resolved"
    assert "for 4 comparisons" in how_judged(several)


def test_every_comparison_is_of_arms_of_the_plan() -> None:
    for system in PLAN.values():
        for pair in comparisons_of(system):
            assert set(pair) <= set(system["arms"])
            assert not set(pair) & set(system.get("refused", ()))


def test_systems_without_seeds_of_their_own_have_enough() -> None:
    assert {len(system["seeds"]) for system in PLAN.values()} <= {3, SEEDS}


def test_all_is_judged_on_test() -> None:
    table = json.loads((FOLDER / "table.json").read_text("utf-8"))
    assert {arm["split"] for entry in table for arm in entry["arms"].values()} == {"test"}


def test_overlap_is_counted_by_hand(tmp_path: Path) -> None:
    """But for case, Unicode form and white space; the same source with another target counts, too."""
    (tmp_path / "train.tsv").write_text("How far ?\tNUM\nwho\tHUM\ncafe\u0301\tENTY\nwhy\tDESC\n", "utf-8")
    (tmp_path / "test.tsv").write_text("how  far ?\tNUM\nWho\tENTY\ncaf\u00e9\tenty\nwhen\tNUM\n", "utf-8")
    files = {split: (str(tmp_path / f"{split}.tsv"),) for split in ("train", "test")}
    assert repeated(DataConfig(**files, dev=files["test"]), "test") == ({0, 1, 2}, 2, 4)


def test_score_without_some_items() -> None:
    items = [Output(str(number), "", ["NUM"], output, 0.0) for number, output in enumerate(["NUM", "HUM", "NUM"])]
    assert score_without(items, (), "accuracy") == pytest.approx(200 / 3)
    assert score_without(items, {0}, "accuracy") == 50
    assert score_without(items, {1}, "accuracy") == 100


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
