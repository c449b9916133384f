"""How threads wait for each other is set before torch is imported, and never over what the user has set."""

import os
import subprocess
import sys

import pytest

SCRIPT = "import os, sys, heedful\nprint(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"


@pytest.mark.parametrize(
    ("mine", "wanted"),
    [({}, "2000"), ({"GOMP_SPINCOUNT": "70"}, "70"), ({"OMP_WAIT_POLICY": "passive"}, "None")],
)
def test_waiting_of_threads(mine: dict[str, str], wanted: str) -> None:
    outer = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**outer, **mine}, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{wanted} False\n"
