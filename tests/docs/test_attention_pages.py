"""docs/attention/ is whole and true: a page for every member, examples that run, facts, pictures, results as made."""

import json
import re

import draw
import make
import pytest
from tests.house.source import ROOT

from heedful.gallery.family import FAMILY
from heedful.gallery.measured import Arm, MeasuredSystem

FOLDER = ROOT / "docs" / "attention"
PAGES = make.pages()
EVERY_PAGE = pytest.mark.parametrize("page", PAGES)
SECTIONS = ["## In ten lines", "## A picture", "## On its task", "## What it is not good for"]


def text(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text("utf-8")


def test_every_member_has_a_page_and_every_page_a_picture() -> None:
    assert {member.page for member in FAMILY} <= {path.stem for path in FOLDER.glob("*.md")}
    assert set(draw.PICTURES) == set(PAGES) == {path.stem for path in (FOLDER / "pictures").glob("*.svg")}


def test_the_index_is_as_made() -> None:
    assert make.filled(text("README"), {"index": make.contents()}) == text("README")


@EVERY_PAGE
class TestPage:
    def test_has_all_sections(self, page: str) -> None:
        assert re.findall(r"^## .*", text(page), re.MULTILINE) == SECTIONS
        assert 35 <= text(page).count("\n") <= 90
        assert f"](pictures/{page}.svg)" in text(page)

    def test_is_as_made(self, page: str) -> None:
        """After a change that is meant: `python docs/attention/make.py`."""
        assert make.filled(text(page), make.parts(page)) == text(page)

    def test_picture_is_as_made(self, page: str) -> None:
        assert draw.PICTURES[page]() == (FOLDER / "pictures" / f"{page}.svg").read_text("utf-8")

    def test_example_runs(self, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        (block,) = re.findall(r"```python\n(.*?)\n```", text(page), re.DOTALL)
        assert "assert " in block
        assert len([line for line in block.splitlines() if line and not line.startswith(("import", "from"))]) <= 12
        exec(compile(block, page, "exec"), {})

    def test_links_lead_somewhere(self, page: str) -> None:
        links = re.findall(r"\]\(([^)#\s]+)\)", text(page))
        assert [link for link in links if not (FOLDER / link).exists()] == []


def test_results_are_those_of_the_experiments() -> None:
    table = json.loads(make.TABLE.read_text("utf-8")) if make.TABLE.exists() else []
    assert make.kept(table) == make.KEPT.read_text("utf-8")
    assert {entry["page"] for entry in table} <= set(PAGES)


def test_a_result_is_a_table() -> None:
    overlap = {"n": 1000, "sources": 2, "pairs": 1, "without": 80.5}
    arm = {"values": [80.0, 82.0], "parameters": 12_345, "minutes": 0.52, "evidence": {"hit@1": 97.0}}
    arm |= {"split": "test", "overlap": overlap}
    words = {"key": "hops", "number": 11, "page": "memory", "name": "Memory", "task": "bAbI 2", "licence": "CC BY 3.0"}
    words |= {"recipe": "recipes/babi-memory.toml", "metric": "accuracy"}
    told = {"of": "3 hops", "asked": "better than", "against": "1 hop", "gain": 41.0, "verdict": "yes"}
    words["comparisons"] = [{**told, "p": 2 / 252, "adjusted": 0.02}]
    entry = {**words, "arms": {"3 hops": arm, "1 hop": {**arm, "values": [40.0], "evidence": {}}}, "refused": {}}
    (kept,) = json.loads(make.kept([entry]))
    shown = make.result([MeasuredSystem(**{**kept, "arms": [Arm(**arm) for arm in kept["arms"]]})]).splitlines()
    assert shown[:2] == [
        "**Memory**. bAbI 2 (CC BY 3.0), `recipes/babi-memory.toml`. Of the 1,000 test items 2 stand in train, too "
        "(1 with their target).",
        "Is 3 hops better than 1 hop? yes (+41.00, p 0.0079, adjusted 0.020).",
    ]
    assert shown[5:] == [
        "| 3 hops | 81.00 ± 1.41 (2 seeds) | 80.50 | 12,345 | 0.5 | hit@1 97.00 |",
        "| 1 hop | 40.00 (1 seeds) | 80.50 | 12,345 | 0.5 |  |",
    ]
    assert make.result([]) == make.NOT_YET


def test_a_mark_that_is_missing() -> None:
    with pytest.raises(ValueError, match="The marks are"):
        make.filled("no marks", {"result": "x"})
