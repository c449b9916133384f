"""The tables in README.md and docs/benchmarks.md are those of the kept results, and README's rows are its headlines."""

import shutil
from pathlib import Path
from typing import Any

import pages
import pytest
from headlines import headline_table, headlines_of
from measure import HERE, Spread
from pages import heading, tables, write_pages
from results import Results, between_marks
from rows import Row
from tests.house.source import ROOT

KEPT = Results(HERE / "results" / "latest.json", {})
MACHINE = {"cpu": "a core", "cores": 2, "memory_gb": 8, "python": "CPython 3.11", "packages": {"torch": "2.13.0"}}


@pytest.mark.parametrize("page", ["README.md", "docs/benchmarks.md"])
def test_page_holds_the_kept_results(page: str) -> None:
    """`benchmarks/run --write` would change nothing."""
    text = (ROOT / page).read_text("utf-8")
    assert between_marks(text, "benchmarks", tables(KEPT)[page]) == text


def test_readme_has_eight_rows_and_the_page_all() -> None:
    assert tables(KEPT)["README.md"].count("\n|") == 2 + 8
    assert all(row.system in tables(KEPT)["docs/benchmarks.md"] for row in KEPT.rows(pages.PARTS))


def test_writing_touches_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    for page in tables(KEPT):
        shutil.copy(ROOT / page, tmp_path / page)
        (tmp_path / page).write_text(between_marks((tmp_path / page).read_text("utf-8"), "benchmarks", "old"), "utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    write_pages(KEPT)
    assert all((tmp_path / page).read_bytes() == (ROOT / page).read_bytes() for page in tables(KEPT))


def test_heading_names_every_machine_once() -> None:
    def part(date: str, **changes: Any) -> dict[str, Any]:
        return {"date": f"{date}T10:00:00+00:00", "machine": {**MACHINE, **changes}}

    shown = "a core, 2 cores, 8 GB, CPython 3.11, torch 2.13.0"
    assert heading({"a": part("2026-01-02"), "b": part("2026-01-02")}) == f"Measured 2026-01-02 on {shown}."
    two = heading({"a": part("2026-01-03"), "b": part("2026-01-02", cores=4)})
    assert two == f"Measured 2026-01-02 to 2026-01-03 on {shown} and on {shown.replace('2 cores', '4 cores')}."
    assert heading({}) == "Nothing was measured."


def test_headlines_by_hand() -> None:
    """Two rounds each. The quickest peer is the one with the larger median; ratios are taken round by round."""

    def speeds(unit: str, *values: float) -> list[dict[str, float]]:
        return [{unit: value} for value in values]

    training = {
        "Heedful, bfloat16": speeds("tokens_per_second", 3000, 4000),
        "Heedful, float32": speeds("tokens_per_second", 9000, 9000),
        "slow": speeds("tokens_per_second", 900, 1300),
        "quick": speeds("tokens_per_second", 1500, 1000),
        "torch.nn.Transformer loop, trimmed, bfloat16": speeds("tokens_per_second", 2000, 2000),
    }
    greedy = {
        "Heedful, float32, its own batches": speeds("sentences_per_second", 300, 330),
        "fairseq": speeds("sentences_per_second", 100, 100),
    }
    bleu = dict.fromkeys(greedy, 30.0)
    parts = {
        "training": {"details": {"small": {"rounds": training}}},
        "decoding": {"details": {"searches": {"greedy": greedy}, "bleu": {"greedy": bleu}}},
    }
    curve = [Row("Time to BLEU, x (unit)", name, Spread(*figure)) for name, figure in
             {"Heedful": (1, 2, 3), "Marian C++": (0, 1, 2)}.items()]  # fmt: skip
    trained, decoded, reached = headlines_of(parts, curve)
    assert (trained.own.figure, trained.other.system) == ((3000, 3500, 4000), "quick, float32")
    assert trained.ratio == (2, 3, 4)
    assert trained.note.startswith("1.75 beside")
    assert (decoded.ratio, decoded.note) == ((3, 3.15, 3.3), "BLEU 30.00 and 30.00")
    assert (reached.what, reached.ratio) == ("time to BLEU, x", None)
    table = headline_table([decoded, reached]).splitlines()
    assert table[2].startswith(
        "| decoding, greedy, sentences/s | 315 (Heedful, float32, its own batches) | 100 (fairseq)"
    )
    assert table[2].endswith("| 3.15 [3.00, 3.30] | BLEU 30.00 and 30.00 |")
    assert table[3] == "| time to BLEU, x | 2.00 (Heedful) | 1.00 (Marian C++) |  | multi-BLEU of test_2016 |"


def test_a_missing_part_leaves_its_rows_out() -> None:
    assert headlines_of({}, []) == []
    assert headlines_of({"startup": {"details": {"seconds": {"heedful translate, one line": [1.0]}}}}, []) == []
