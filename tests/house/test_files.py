"""The repository as a whole: nothing in it points at one machine, and what it promises is there."""

import re
import subprocess

import pytest
from tests.house.source import ROOT

TEXT = {".py", ".md", ".toml", ".json", ".yaml", ".yml", ".html", ".css", ".js", ".svg", ".csv", ""}
ABSOLUTE = re.compile(r"(?<![\w.~<$*-])/(?:root|home|work|Users)/\w")


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_paths_of_one_machine() -> None:
    found = []
    for name in tracked():
        path = ROOT / name
        if path.suffix in TEXT and path.stat().st_size < 2_000_000:
            text = path.read_text("utf-8", errors="ignore")
            found += [f"{name}: {match.group()}" for match in ABSOLUTE.finditer(text)]
    assert found == []


def test_no_big_files() -> None:
    """A model, a corpus or a figure in the history stays in every clone for ever."""
    assert [name for name in tracked() if (ROOT / name).stat().st_size > 1_000_000] == []


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        ".ci/run",
        "docs/paper-map.md",
        "docs/walk.md",
        "experiments/LOG.md",
    ],
)
def test_is_there_and_says_something(name: str) -> None:
    assert len((ROOT / name).read_text("utf-8")) > 200


def test_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]))
def test_links_between_pages_lead_somewhere(page) -> None:
    """Every relative link in a page names a file that exists."""
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []
