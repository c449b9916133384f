"""The whole table in tiny sizes, and the GPU benchmark without a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gpu
import pytest
import torch
from tests.house.source import ROOT

PAGES = ("README.md", "docs/benchmarks.md")
PROGRAMS = ("benchmarks", "benchmarks/systems", "docs/attention", "experiments")  # import each other by plain names


def test_no_two_programs_have_one_name() -> None:
    """Tests import them into one process, where the second would be given the first."""
    names = [path.name for folder in PROGRAMS for path in (ROOT / folder).glob("*.py")]
    assert len(names) > 30
    assert sorted(names) == sorted(set(names))


@pytest.mark.slow
def test_quick_run_measures_every_part(tmp_path: Path) -> None:
    output = tmp_path / "latest.json"
    before = {page: (ROOT / page).read_text("utf-8") for page in PAGES}
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run"), "--quick", "--threads", "1", "--output", str(output)],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    kept = json.loads(output.read_text())
    assert kept["unfinished"] == []
    assert list(kept["parts"]) == ["training", "decoding", "startup", "growth"]
    assert all(part["rows"] for part in kept["parts"].values())
    for row in ("Heedful, float32", "torch.nn.Transformer loop", "heedful translate, one line", "whole step: length"):
        assert row in done.stdout
    assert {page: (ROOT / page).read_text("utf-8") for page in PAGES} == before, "a smoke test leaves the tables alone"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_gpu_benchmark_says_that_there_is_none() -> None:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "gpu.py")],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 2
    assert "needs a CUDA GPU, and torch sees none" in done.stderr
    assert "hint:" in done.stderr


def test_gpu_benchmark_measures_on_any_device() -> None:
    tiny = {"tiny": {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 1, "vocabulary": 50}}
    part = gpu.run(tiny, torch.device("cpu"), updates=2, rows=4, length=8, matrix=64)
    (row,) = part["rows"]
    assert row.system == "tiny"
    assert row.figure.low > 0
    details = part["details"]["tiny"]
    assert len(details["seconds"]) == 2
    assert details["target_tokens"] == 32
    assert details["fraction"] > 0
