"""`heedful average`: the new scores, as text and as JSON."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.pipeline.little import little_run

from heedful.records.run import Run


def test_text_and_json(tmp_path: Path, heedful: Callable) -> None:
    run = little_run(tmp_path)
    outcome = heedful("average", str(run), "--last", "1", "--json")
    assert outcome.code == 0, outcome.err
    facts = json.loads(outcome.out)
    final = [row for row in Run.open(run).read_results() if row.split == "test"]
    assert facts["split"] == "test"
    assert [(score["metric"], score["value"], score["n"]) for score in facts["scores"]] == [
        (row.metric, row.value, row.n) for row in final
    ]
    assert {row.checkpoint for row in final} == {"average-of-1"}
    rows = [row.split("\t") for row in heedful("average", str(run), "--last", "1").out.splitlines()]
    assert rows == [
        ["test", row.metric, f"{row.value:.2f}", f"[{row.ci_low:.2f}, {row.ci_high:.2f}]", f"n={row.n}"]
        for row in final
    ]
