"""docs/python.md is true: its blocks run in order in an empty folder, and show every public name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.source import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(BLOCKS)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "runs/one test", "as the page says"
    assert "a b b a" in said
    assert said[-1].startswith("Unknown preset `charakter`. Did you mean `character`?")
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "pairs.tsv", "exported"}


def test_nothing_is_imported_from_inside() -> None:
    imported = re.findall(r"^\s*(?:from|import) (heedful[\w.]*)", PAGE, re.MULTILINE)
    for path in (ROOT / "examples").glob("*.py"):
        imported += re.findall(r"^\s*(?:from|import) (heedful[\w.]*)", path.read_text("utf-8"), re.MULTILINE)
    assert len(imported) >= 3
    assert set(imported) <= {"heedful", "heedful.attention"}
