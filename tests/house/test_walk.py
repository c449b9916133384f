"""docs/walk.md is true: its blocks run in order, its shapes and values hold, and what it points at exists."""

import ast
import re
from collections.abc import Iterator

import pytest
import torch
from tests.house.source import MODULES, ROOT

WALK = (ROOT / "docs" / "walk.md").read_text("utf-8")
SHAPE = re.compile(r"^(?P<expression>.+?)  # \[(?P<letters>[A-Z ]+)\] = \[(?P<sizes>[\d, ]+)\]$")
VALUE = re.compile(r"^(?P<expression>.+?)  # -> (?P<value>.+)$")
LETTERS = dict(re.findall(r"^\| ([A-Z](?:, [A-Z])?) \|.*\| ([\d, ]+) \|$", WALK, re.MULTILINE))


def letter_sizes() -> dict[str, int]:
    """The table at the head of the page: {"B": 2, "S": 5, ...}."""
    sizes = {}
    for letters, numbers in LETTERS.items():
        sizes.update(zip(letters.split(", "), map(int, numbers.split(", ")), strict=True))
    return sizes


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", WALK, re.DOTALL)


def statements() -> Iterator[tuple[str, str]]:
    """Each statement of the page with its last source line (which may carry a claim)."""
    for block in blocks():
        lines = block.splitlines()
        for node in ast.parse(block).body:
            assert node.end_lineno is not None
            yield "\n".join(lines[node.lineno - 1 : node.end_lineno]), lines[node.end_lineno - 1]


def test_the_page_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the page from its first line to its last, and hold each claim against what is there."""
    sizes, scope, claims = letter_sizes(), {}, 0
    for source, last_line in statements():
        shape, value = SHAPE.match(last_line), VALUE.match(last_line)
        if shape is None and value is None:
            exec(source, scope)  # the page's own code
            continue
        claims += 1
        if shape is not None:
            found = eval(shape["expression"], scope)
            claimed = [int(size) for size in shape["sizes"].split(",")]
            assert list(found.shape) == claimed, last_line
            assert [sizes[letter] for letter in shape["letters"].split()] == claimed, f"letters of: {last_line}"
        elif value is not None:
            found = eval(value["expression"], scope)
            assert found == eval(value["value"], {"torch": torch}), f"{last_line} is {found!r}"
    assert claims > 40


def test_every_code_line_with_a_comment_is_a_claim() -> None:
    """A mistyped claim would be passed over as a comment."""
    for block in blocks():
        for line in block.splitlines():
            assert "#" not in line or SHAPE.match(line) or VALUE.match(line), line


POINTERS = re.findall(r"`((?:[a-z_]+/)?[a-z_]+\.py)`\s+`([\w.]+)`", WALK)


def test_the_page_points_at_the_program() -> None:
    assert len(POINTERS) > 20


@pytest.mark.parametrize(("file", "symbol"), POINTERS, ids=[f"{file}:{symbol}" for file, symbol in POINTERS])
def test_pointers(file: str, symbol: str) -> None:
    (module,) = [module for module in MODULES if module.name == file]
    assert symbol in module.definitions()
