"""docs/attention/ is whole and true: a page for every member, examples that run, facts, pictures, results as made."""

import json
import re

import draw
import make
import pytest
from tests.house.source import ROOT

from heedful.inspection.family import FAMILY

FOLDER = ROOT / "docs" / "attention"
PAGES = make.pages()
EVERY_PAGE = pytest.mark.parametrize("page", PAGES)
SECTIONS = ["## In ten lines", "## A picture", "## On its task", "## What it is not good for"]


def text(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text("utf-8")


def measured() -> list[dict]:
    return json.loads(make.TABLE.read_text("utf-8"))["rows"] if make.TABLE.exists() else []


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
        assert make.filled(text(page), make.parts(page, measured())) == text(page)

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


def test_a_result_is_a_table() -> None:
    row = {"page": "memory", "system": "memory, 3 hops", "task": "bAbI 2", "metric": "accuracy", "result": "80 ± 1"}
    row |= {"baseline": "1 hop", "baseline_result": "40 ± 2", "verdict": "yes"}
    shown = make.parts("memory", [row])["result"].splitlines()
    assert shown[2] == "| memory, 3 hops | bAbI 2 | accuracy | 80 ± 1 | 1 hop | 40 ± 2 | yes |"
    assert make.parts("memory", [])["result"] == make.NOT_YET


def test_a_mark_that_is_missing() -> None:
    with pytest.raises(ValueError, match="The marks are"):
        make.filled("no marks", {"result": "x"})
