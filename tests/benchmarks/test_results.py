"""Finished parts are kept, what is left is known, and tables say what the rows hold."""

import json
import sys
from pathlib import Path

import pytest
from aims import aims_of
from measure import ChildFailed, Spread, alternate, child, ratios, short_reason, spread
from results import Results, between_marks
from rows import Row, markdown_table, text_table

ROW = Row("speed (tokens/s)", "ours", Spread(900, 1000, 1234.5), Spread(1, 1.5, 2), "a note")


def test_spread_and_ratios_by_hand() -> None:
    assert spread([3, 1, 2]) == (1, 2, 3)
    assert ratios([4, 9], [2, 3]) == (2, 2.5, 3)


def test_a_finished_part_outlives_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "results" / "latest.json"
    first = Results(path, {"cores": 2})
    first.begin(["training", "decoding"])
    first.keep("training", {"rows": [ROW], "details": {}}, 12.34)
    again = Results(path, {"cores": 2})  # a new process
    assert again.unfinished == ["decoding"]
    assert again.rows(["training", "decoding"]) == [ROW]
    assert again.parts["training"]["seconds"] == 12.3
    again.keep("decoding", {"rows": [], "details": {}}, 1)
    assert json.loads(path.read_text())["unfinished"] == []
    assert [file.name for file in path.parent.iterdir()] == ["latest.json"]


def test_a_row_in_both_tables() -> None:
    text = text_table([ROW, ROW._replace(system="theirs", ratio=None, note="")])
    assert text.splitlines()[0] == "speed (tokens/s)"
    assert text.splitlines()[2].split() == ["ours", "900", "1,000", "1,234", "1.00", "1.50", "2.00", "a", "note"]
    assert text.splitlines()[3].split() == ["theirs", "900", "1,000", "1,234"]
    assert markdown_table([ROW]).splitlines()[-1] == "| ours | 900 | 1,000 | 1,234 | 1.00 1.50 2.00 | a note |"


def test_only_what_is_between_the_marks_changes() -> None:
    before = "# Title\n<!-- t -->\nold\n<!-- /t -->\nrest\n"
    assert between_marks(before, "t", "new") == "# Title\n<!-- t -->\nnew\n<!-- /t -->\nrest\n"
    assert between_marks(between_marks(before, "t", "new"), "t", "old") == before


def test_missing_marks_are_refused() -> None:
    with pytest.raises(ValueError, match="once each"):
        between_marks("no marks", "t", "new")


def test_systems_take_turns_and_a_failing_one_is_named() -> None:
    calls: list[tuple[str, int]] = []

    def measure(name: str, number: int) -> dict[str, int]:
        calls.append((name, number))
        if name == "bad":
            raise ChildFailed("it has no wheels")
        return {"value": number}

    found, dropped = alternate(["a", "bad", "b"], 2, measure)
    assert found == {"a": [{"value": 0}, {"value": 1}], "b": [{"value": 0}, {"value": 1}]}
    assert dropped == {"bad": "it has no wheels"}
    assert calls == [("a", 0), ("bad", 0), ("b", 0), ("b", 1), ("a", 1)]


def test_what_a_failing_child_said_is_shown() -> None:
    with pytest.raises(ChildFailed, match="no such system"):
        child(["sh", "-c", "echo no such system >&2; exit 3"], threads=1)


def test_failures_name_no_place_of_this_machine() -> None:
    program = "import pathlib, sys; sys.exit(f'ValueError: {pathlib.Path.home()} is full')"
    with pytest.raises(ChildFailed) as failure:
        child([sys.executable, "-c", program], threads=1)
    assert str(Path.home()) not in str(failure.value)
    assert short_reason(str(failure.value)) == "ValueError: ~ is full"


def test_decoding_aims_by_hand() -> None:
    def rounds(speed: float) -> list[dict]:
        return [{"sentences_per_second": speed}]

    speeds = {"Heedful, float32": 150.0, "fairseq": 100.0, "Heedful, float32, its own batches": 140.0}
    bleu = {"Heedful, float32, its own batches": 30.0, "Heedful, float32, its own batches, shortlist": 29.5}
    details = {
        "searches": {"greedy": {name: rounds(speed) for name, speed in speeds.items()}},
        "bleu": {"greedy": bleu},
    }
    same, own, lost = aims_of({"decoding": {"details": details}})
    assert (same.figure.median, same.note) == (1.5, "aim: at least 1.5; met")
    assert (own.figure.median, own.note) == (1.4, "aim: at least 1.5; missed")
    assert (lost.figure.median, lost.note) == (0.5, "aim: at most 0.2; missed")


def test_aims_by_hand() -> None:
    """Two rounds: 3,000 and 3,300 tokens a second beside the better peer's 1,500 and 1,000 (1,100 is the other's)."""

    def rounds(speeds: list[float], peak: float) -> list[dict]:
        return [{"tokens_per_second": speed, "peak_mb": peak, "losses": [5.0] * 5} for speed in speeds]

    found = {
        "Heedful, bfloat16": rounds([3000, 3300], 900),
        "Heedful, float32": rounds([1000, 1000], 800),
        "one": rounds([1500, 1000], 1800),
        "other": rounds([1200, 1100], 1000),
    }
    parts = {
        "training": {"details": {"small": {"rounds": found}}},
        "startup": {"details": {"seconds": {"heedful translate, one line": [2.0, 3.0, 4.0]}}},
    }
    speed, memory, loss, start = aims_of(parts)
    assert speed.figure == pytest.approx((2, 2.5, 3))
    assert speed.note == "aim: at least 1.6; met"
    assert memory.figure == pytest.approx((0.9, 0.9, 0.9))
    assert loss.figure == (0, 0, 0)
    assert start.note == "aim: at most 2.5; missed"
