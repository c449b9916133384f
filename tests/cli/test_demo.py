"""`heedful demo` on a small dictionary: its text, its JSON and nothing else, and a second call."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.dictionary import shrink_demo

from heedful.records.run import Run


def test_text_then_json(tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call shows the same run, and --json prints one object and nothing besides, on either stream."""
    shrink_demo(tmp_path / "dictionary", monkeypatch)
    run = str(tmp_path / "demo")
    outcome = heedful("demo", "--run", run, "--max-minutes", "100")
    assert outcome.code == 0, outcome.err
    assert "validation at update 60" in outcome.err
    stored = [row for row in Run.open(Path(run)).read_results() if row.split == "test"]
    for row in stored:
        assert (
            f"{row.metric.upper()} {row.value:.2f} %  [{row.ci_low:.2f}, {row.ci_high:.2f}]  n={row.n:,}" in outcome.out
        )
    assert f"report: {run}/report.html" in outcome.out
    assert outcome.out.count("heedful ") >= 3  # the next commands
    assert "holds a finished run" in heedful("demo", "--run", run).err

    again = heedful("demo", "--run", run, "--json")
    assert (again.code, again.err) == (0, "")
    facts = json.loads(again.out)
    assert (facts["run"], facts["model"], facts["report"]) == (run, f"{run}/model", f"{run}/report.html")
    assert facts["trained_now"] is False
    assert facts["training_seconds"] == Run.open(Path(run)).read_log("ended")[-1]["seconds"]
    assert {name: found["value"] for name, found in facts["metrics"].items()} == {r.metric: r.value for r in stored}
    for found in facts["metrics"].values():
        assert found["ci_low"] <= found["value"] <= found["ci_high"]
        assert found["n"] == stored[0].n
        assert found["signature"]


def test_json_of_a_first_call(tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_demo(tmp_path / "dictionary", monkeypatch, max_updates=10)
    outcome = heedful("demo", "--run", str(tmp_path / "demo"), "--max-minutes", "100", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)["trained_now"] is True


def test_no_time_at_all(heedful: Callable) -> None:
    assert heedful("demo", "--max-minutes", "0").code == 2
