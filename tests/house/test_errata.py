"""docs/errata.md is true: 22 entries, each with lines that run, and the numbers that its commands print."""

import re
import shlex

import pytest
from tests.house.source import ROOT
from typer.testing import CliRunner

from heedful.cli.app import app

PAGE = (ROOT / "docs" / "errata.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (X\d+)\. (.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def blocks(language: str) -> list[tuple[str, str]]:
    """The blocks in a language, each with the entry that it belongs to."""
    fence = re.compile(rf"```{language}\n(.*?)\n```", re.DOTALL)
    return [(name, block) for name, text in SECTIONS.items() for block in fence.findall(text)]


PYTHON, SHELL = blocks("python"), blocks("sh")


def test_all_are_there_and_each_has_something_to_run() -> None:
    assert list(SECTIONS) == [f"X{number}" for number in range(1, 23)]
    assert {name for name, _ in [*PYTHON, *SHELL]} == set(SECTIONS)


@pytest.mark.parametrize(("name", "block"), PYTHON, ids=[name for name, _ in PYTHON])
def test_python(name: str, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert "assert " in block
    exec(compile(block, name, "exec"), {})


@pytest.mark.parametrize(("name", "line"), SHELL, ids=[name for name, _ in SHELL])
def test_command(name: str, line: str) -> None:
    command, _, shown = line.partition("  # ")
    outcome = CliRunner().invoke(app, shlex.split(command)[1:])
    assert outcome.exit_code == 0
    assert shown
    assert [word for word in shown.split() if word not in outcome.output] == []
