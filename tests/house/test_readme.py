"""README.md is true: its commands exist with these options, its files are there, and its tour runs as it stands."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.house.source import ROOT

from heedful.cli.app import VERBS, load_verb

README = (ROOT / "README.md").read_text("utf-8")
SHELL = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
TOUR = "run=runs/reverse"  # what the block of the tour has and no other


def commands() -> list[str]:
    """Every line of the shell blocks that calls `heedful`, continued lines joined, without comments and pipes."""
    lines = [line for block in SHELL for line in block.replace("\\\n", " ").splitlines()]
    parts = [part.strip() for line in lines for part in line.split("  #")[0].split(" | ")]
    return [part.split(" > ")[0].split(" < ")[0] for part in parts if part.startswith("heedful ")]


def test_it_is_short() -> None:
    """What has grown beyond a first reading has its own page."""
    assert len(README.splitlines()) < 120


def test_installing_is_explained() -> None:
    """With every extra but that for development, and the way around torch's gigabytes."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (shown,) = re.findall(r"pip install '\.\[([\w,]+)\]'", README)
    assert set(shown.split(",")) == extras.keys() - {"dev"}
    wanted = (
        "source .venv/bin/activate",
        "pip install . ",
        "CUDA",
        "--extra-index-url URL",
        "TORCH_INDEX=URL make demo",
    )
    assert [words for words in wanted if words not in README] == []


def test_every_verb_has_an_example() -> None:
    shown = {command.split()[1] for command in commands()}
    assert {verb.name for verb in VERBS} <= shown


@pytest.mark.parametrize("command", commands())
def test_command_parses(command: str) -> None:
    """The verb exists and takes these arguments and options (nothing is run)."""
    _, name, *words = shlex.split(command)
    found = load_verb(next(verb for verb in VERBS if verb.name == name))
    while subcommands := getattr(found, "commands", None):
        found = subcommands[words.pop(0)]
    found.make_context(name, words)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\b(?:recipes|docs|examples|benchmarks)/[\w./-]+\w", README))))
def test_files_exist(path: str) -> None:
    assert (ROOT / path).exists()


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_core_alone() -> None:
    (block,) = [block for block in python_blocks() if "attend(" in block]
    scope: dict = {}
    exec(block, scope)
    assert scope["context"].shape == (1, 8, 5, 64)
    assert scope["weights"].shape == (1, 8, 5, 5)


@pytest.mark.slow
def test_the_tour_runs(tmp_path: Path) -> None:
    """The block of the tour and the Python that follows it, in an empty folder."""
    (tour,) = [block for block in SHELL if TOUR in block]
    (same_in_python,) = [block for block in python_blocks() if "heedful.load(" in block]
    (tmp_path / "same.py").write_text(same_in_python)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    script = f"set -euo pipefail\n{tour}\npython same.py"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count("e d c b a") >= 2, "by the command and in Python"
    assert (tmp_path / "look.html").stat().st_size > 1000
