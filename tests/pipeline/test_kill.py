"""A run that is killed twenty times, in all its stages, ends with the weights of one that nobody disturbed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_killed_twenty_times(tmp_path: Path) -> None:
    """Words, and subwords drawn anew in every epoch; weights, optimiser, curves, results and outputs are compared."""
    command = [sys.executable, "-m", "tests.pipeline.killing", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": -9\n") == 20, done.stdout
