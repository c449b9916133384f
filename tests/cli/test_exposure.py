"""`heedful exposure` on a tiny model that was trained for two updates: what it prints and refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import little_run

from heedful.evaluation.exposure import Exposure


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("exposure"))


def test_json(run: Path, heedful: Callable) -> None:
    outcome = heedful("exposure", str(run), "--error-at", "2", "--json")
    assert outcome.code == 0, outcome.err
    facts = json.loads(outcome.out)
    assert (facts["model"], facts["split"], facts["outputs"], facts["error_at"]) == (str(run), "dev", 12, 2)
    assert facts.keys() == {"model", "split", "data", *Exposure._fields}
    assert sum(row["n"] for row in facts["by_position"]) == facts["tokens"]
    for measure in ("teacher_forced", "free_running"):
        right = sum(row["n"] * row[measure] for row in facts["by_position"])
        assert right / facts["tokens"] == pytest.approx(facts[f"{measure}_tokens"])
    assert [row["distance"] for row in facts["after_error"]] == list(range(1, len(facts["by_position"]) - 1))


def test_the_split_and_what_evaluate_says_of_it(run: Path, heedful: Callable) -> None:
    """Whole outputs that are right, by both verbs; the data of one target a source have the same hash."""
    found = json.loads(heedful("exposure", str(run), "--split", "test", "--json").out)
    scored = json.loads(heedful("evaluate", str(run), "search.beam=1", "--json").out)
    (exact,) = [score["value"] for score in scored["scores"] if score["metric"] == "exact"]
    assert (found["split"], found["data"]) == (scored["split"], scored["data"])
    assert 100 * found["free_running_outputs"] == pytest.approx(exact)


def test_both_numbers_stand_side_by_side(run: Path, heedful: Callable) -> None:
    """[spec P41]"""
    facts = json.loads(heedful("exposure", str(run), "--json").out)
    outcome = heedful("exposure", str(run))
    whole, places, behind = outcome.out.split("\n\n")
    header, tokens, outputs, edits = whole.splitlines()
    assert header.split() == ["%", "teacher-forced", "free-running", "n"]
    sides = [f"{100 * facts[f'{measure}_tokens']:.2f}" for measure in ("teacher_forced", "free_running")]
    assert tokens.split() == ["tokens", "right", *sides, str(facts["tokens"])]
    assert outputs.split()[-3] == f"{100 * facts['teacher_forced_outputs']:.2f}"
    assert edits.split()[-2] == f"{100 * facts['free_running_edits']:.2f}"
    assert len(places.splitlines()) == 1 + len(facts["by_position"])
    assert behind.startswith("positions after 1  after the reference  after an error")
    assert "p^T" in outcome.err


def test_a_place_that_no_target_reaches(run: Path, heedful: Callable) -> None:
    outcome = heedful("exposure", str(run), "--error-at", "99")
    assert (outcome.code, outcome.out) == (1, "")
    assert "error: No target has a token at position 99, so none can be wrong there." in outcome.err
    assert "hint: Take a position from 1 to" in outcome.err
