"""`experiments/faults.py` in small: a few flips of every file, a few kills of every verb, and that it finds faults."""

import json
import sys
from pathlib import Path

import pytest
from tests.house.source import ROOT

sys.path.insert(0, str(ROOT / "experiments"))

from faults import faults, flipped, killed, table
from faults_flips import flip_files
from faults_kills import kill_everywhere, verbs
from faults_world import finished_run

from heedful.text import new_files

KEPT = ROOT / "experiments" / "faults"


@pytest.mark.slow
def test_no_flipped_byte_gives_another_answer_silently(tmp_path: Path) -> None:
    found = flipped(tmp_path, 4)
    assert {one.file for one in found} >= {"model/model.safetensors", "checkpoints/last", "log.jsonl", "results.csv"}
    assert [one for one in found if one.silent or one.crashed] == []
    assert all(one.refused + one.mended + one.same == one.flips for one in found)


@pytest.mark.slow
def test_killed_verbs_go_on(tmp_path: Path) -> None:
    found = killed(tmp_path, 2)
    assert [one.verb for one in found if one.faults] == []
    assert all(one.killed == 2 for one in found)


@pytest.mark.slow
def test_faults_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checksums flips of scores are believed; files that are not taken back make the next call fail."""
    run = finished_run(tmp_path / "data", tmp_path / "run")
    (run / "SHA256SUMS").unlink()
    (results,) = flip_files(run, 30, "results.csv")
    assert results.silent > 0
    monkeypatch.setattr(new_files, "_take_back", lambda _staging, _folder: None)
    (split,) = [verb for verb in verbs(tmp_path / "kills") if verb.name == "data split"]
    assert any(
        "the next call ended with [2]" in fault or "is left" in fault
        for fault in kill_everywhere(split, tmp_path).faults
    )


def test_the_last_full_result_has_no_fault() -> None:
    result = json.loads((KEPT / "result.json").read_text("utf-8"))
    assert "experiments/faults.py" in result["command"]
    assert faults(result) == 0
    assert all(one["flips"] in (0, 200) for one in result["flips"])
    assert all(one["killed"] == one["operations"] > 0 for one in result["kills"])
    verbs_killed = {one["verb"] for one in result["kills"]}
    assert verbs_killed >= {"train", "train --resume", "average", "evaluate", "export", "data split", "data get --to"}
    assert (KEPT / "table.md").read_text("utf-8") == table(result)
