"""`heedful runs`: lists, shows and diffs run directories."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.evaluation.made_up import made_run

from heedful.records.run import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made_run(tmp_path / "runs" / "first", 0.3)
    made_run(tmp_path / "runs" / "second", 0.1, seed=2)
    Run.create(tmp_path / "runs" / "third", "seed = 1\n", ["heedful", "train"])
    return tmp_path / "runs"


class TestList:
    def test_json(self, folder: Path, heedful: Callable) -> None:
        listed = json.loads(heedful("runs", "list", str(folder), "--json").out)
        assert [summary["run"] for summary in listed] == ["first", "second", "third"]
        assert [row["metric"] for row in listed[0]["results"]] == ["bleu", "wer"]
        assert (listed[0]["update"], listed[0]["minutes"], listed[0]["state"]) == (30, 3.0, "complete")
        assert listed[2]["state"].startswith("incomplete: missing")

    def test_text(self, folder: Path, heedful: Callable) -> None:
        lines = heedful("runs", "list", str(folder)).out.splitlines()
        assert [line.split()[0] for line in lines] == [
            "run",
            *(str(folder / name) for name in ("first", "second", "third")),
        ]
        assert "complete" in lines[1]
        assert "wer " in lines[1]

    def test_here_is_none(self, tmp_path: Path, heedful: Callable) -> None:
        outcome = heedful("runs", "list", str(tmp_path))
        assert (outcome.code, outcome.out) == (0, "")
        assert "There are no runs in" in outcome.err

    def test_default_folder_that_is_missing(
        self, tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        outcome = heedful("runs", "list")
        assert outcome.code == 2
        assert "There is no folder runs." in outcome.err


class TestShow:
    def test_json(self, folder: Path, heedful: Callable) -> None:
        shown = json.loads(heedful("runs", "show", str(folder / "first"), "--json").out)
        run = Run.open(folder / "first")
        assert [row["signature"] for row in shown["evaluations"]] == [row.signature for row in run.read_results()]
        assert sum(shown["errors"].values()) == len(run.read_errors())
        assert shown["environment"]["command"] == ["heedful", "train"]

    def test_text(self, folder: Path, heedful: Callable) -> None:
        out = heedful("runs", "show", str(folder / "first")).out
        assert "30 updates, 3.0 minutes" in out
        assert "nrefs:1|form:NFC|case:mixed" in out
        reasons = Counter(row["reason"] for row in Run.open(folder / "first").read_errors())
        assert reasons["substitution"]  # the noise exchanges words
        assert ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) in out

    def test_nothing_recorded_yet(self, folder: Path, heedful: Callable) -> None:
        out = heedful("runs", "show", str(folder / "third")).out
        assert "none recorded" in out
        assert "signature" not in out


class TestDiff:
    def test_json(self, folder: Path, heedful: Callable) -> None:
        parts = json.loads(heedful("runs", "diff", str(folder / "first"), str(folder / "second"), "--json").out)
        assert parts["configuration"] == {"seed": {"left": 1, "right": 2}}
        assert parts["environment"] == {}
        assert set(parts["scores"]) == {"test bleu", "test wer"}

    def test_text(self, folder: Path, heedful: Callable) -> None:
        out = heedful("runs", "diff", str(folder / "first"), str(folder / "third")).out
        assert 'data.catalogue  "copy"' in out
        assert "test wer" in out

    def test_no_difference(self, folder: Path, heedful: Callable) -> None:
        outcome = heedful("runs", "diff", str(folder / "first"), str(folder / "first"))
        assert (outcome.code, outcome.out) == (0, "")
        assert "do not differ" in outcome.err
