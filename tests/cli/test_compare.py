"""`heedful compare`: its table, its JSON, and the comparisons that it refuses."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.evaluation.made_up import made_run


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    made_run(tmp_path / "worse", 0.4)
    made_run(tmp_path / "better", 0.1, seed=2)
    return [str(tmp_path / "worse"), str(tmp_path / "better")]


def test_json(folders: list[str], heedful: Callable) -> None:
    outcome = heedful("compare", *folders, "--samples", "200", "--json")
    assert outcome.code == 0, outcome.err
    facts = json.loads(outcome.out)
    assert facts["split"] == "test"
    rows = {row["metric"]: row for row in facts["comparisons"]}
    assert list(rows) == ["bleu", "wer"]
    for row in rows.values():
        assert (row["baseline"], row["run"], row["n"]) == ("worse", "better", 60)
        assert row["delta"] == pytest.approx(row["value"] - row["baseline_value"])
        assert row["low"] <= row["delta"] <= row["high"]
        assert row["p"] < 0.05
        assert row["wins"] + row["losses"] + row["ties"] == 60
    assert rows["bleu"]["delta"] > 0 > rows["wer"]["delta"]


def test_same_seed_same_numbers(folders: list[str], heedful: Callable) -> None:
    arguments = ["compare", *folders, "--samples", "50", "--json"]
    assert heedful(*arguments, "--seed", "3").out == heedful(*arguments, "--seed", "3").out
    assert heedful(*arguments, "--seed", "3").out != heedful(*arguments, "--seed", "4").out


def test_text(folders: list[str], heedful: Callable) -> None:
    outcome = heedful("compare", *folders, "--samples", "50")
    header, bleu, wer = outcome.out.splitlines()
    assert header.split()[:5] == ["metric", "run", "baseline", "value", "difference"]
    assert bleu.split()[:2] == ["bleu", "better"]
    assert wer.split()[4].startswith("-")
    assert "60 items of test" in outcome.err
    assert "For 2 tests at once, ask for p below 0.025" in outcome.err


def test_other_data_exits_with_3(folders: list[str], tmp_path: Path, heedful: Callable) -> None:
    made_run(tmp_path / "other", 0.1, data_seed=5)
    outcome = heedful("compare", folders[0], str(tmp_path / "other"))
    assert (outcome.code, outcome.out) == (3, "")
    assert "cannot be compared: different data" in outcome.err


def test_one_run(folders: list[str], heedful: Callable) -> None:
    outcome = heedful("compare", folders[0])
    assert outcome.code == 2
    assert "only one run" in outcome.err


def test_no_run(folders: list[str], tmp_path: Path, heedful: Callable) -> None:
    outcome = heedful("compare", folders[0], str(tmp_path))
    assert outcome.code == 2
    assert "it is no run directory" in outcome.err


def test_needs_no_torch(folders: list[str]) -> None:
    script = (
        "import sys; from heedful.cli.app import app\n"
        "try: app(args=sys.argv[1:])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "assert 'torch' not in sys.modules, 'torch was imported'"
    )
    arguments = ["compare", *folders, "--samples", "10"]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
