"""The examples run as they stand, in an empty folder, and say what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == [], "an example leaves files behind"
    return done.stdout


def test_attention_alone(tmp_path: Path) -> None:
    out = run("attention_alone.py", tmp_path)
    assert "context [2, 1, 3, 8] weights [2, 1, 3, 5]" in out
    assert "multi-head output [2, 5, 16] weights of each head [2, 4, 5, 5]" in out
    hidden = next(line for line in out.splitlines() if "second sentence" in line)
    assert hidden.endswith("0.0, 0.0]")


@pytest.mark.slow
def test_train_from_python(tmp_path: Path) -> None:
    out = run("train_from_python.py", tmp_path, "60")
    assert "test per: " in out
    assert "a b c d e -> " in out
    assert out.count(" reads ") == 6


def test_no_example_is_forgotten() -> None:
    tested = Path(__file__).read_text("utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.name}"' in tested
