"""docs/paper-map.md names what is there, once, and misses nothing that cites a paper."""

import ast
import re
from collections import Counter

import pytest
from tests.house.source import MODULES, ROOT, FunctionNode

PAGE = (ROOT / "docs" / "paper-map.md").read_text("utf-8")
ROWS = re.findall(r"^\|.*\| `([\w.]+)` \| `([\w/]+\.py)` \|$", PAGE, re.MULTILINE)
CITATION = re.compile(r"\[[A-Z][\w-]+(?: and [A-Z][\w-]+)? \d{4}[^\]]*\]")
BY_NAME = {module.name: module for module in MODULES}


def citing_symbols() -> list[tuple[str, str]]:
    """Every function, method and class whose docstring cites a paper, as (symbol, file)."""
    found = []
    for module in MODULES:
        for node in module.classes():
            if CITATION.search(ast.get_docstring(node) or ""):
                found.append((node.name, module.name))
        for name, function in module.functions():
            if isinstance(function, FunctionNode) and CITATION.search(ast.get_docstring(function) or ""):
                found.append((name, module.name))
    return found


def test_the_page_has_rows() -> None:
    assert len(ROWS) > 30
    tables = [line for line in PAGE.splitlines() if line.startswith("| ") and ".py` |" in line]
    assert len(tables) == len(ROWS), "a row is not of the form: place, what, `symbol`, `file`"


@pytest.mark.parametrize(("symbol", "file"), ROWS, ids=[f"{file}:{symbol}" for symbol, file in ROWS])
def test_symbol_is_in_its_file(symbol: str, file: str) -> None:
    assert symbol in BY_NAME[file].definitions()


def test_each_symbol_appears_once() -> None:
    assert [row for row, count in Counter(ROWS).items() if count > 1] == []


@pytest.mark.parametrize(
    ("symbol", "file"), citing_symbols(), ids=[f"{file}:{symbol}" for symbol, file in citing_symbols()]
)
def test_whatever_cites_a_paper_is_on_the_map(symbol: str, file: str) -> None:
    assert (symbol, file) in ROWS
