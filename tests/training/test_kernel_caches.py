"""A training run meets hundreds of shapes; the kernels it keeps for them must stay few."""

import os
import subprocess
import sys

import pytest
import torch

from heedful.training.kernel_caches import KEPT, bound_kernel_caches

PRODUCTS = """
import sys, torch
from heedful.training.kernel_caches import bound_kernel_caches
if sys.argv[1] == "bounded":
    bound_kernel_caches()
torch.set_num_threads(1)
weight = torch.zeros(256, 256, dtype=torch.bfloat16)
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
torch.zeros(1000, 256, dtype=torch.bfloat16) @ weight.T
before = resident()
for rows in range(1000, 1600):
    torch.zeros(rows, 256, dtype=torch.bfloat16) @ weight.T
print(resident() - before)
"""


def growth(how: str) -> float:
    """Megabytes gained by 600 products of different shapes, in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in KEPT}
    done = subprocess.run(
        [sys.executable, "-c", PRODUCTS, how], capture_output=True, text=True, check=True, env=environment
    )
    return float(done.stdout)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the resident memory from /proc")
@pytest.mark.skipif(
    not torch.backends.mkldnn.is_available() or "AVX512" not in torch.backends.cpu.get_cpu_capability(),
    reason="only products by oneDNN keep kernels",
)
def test_memory_does_not_grow_with_the_number_of_shapes():
    assert growth("bounded") < 0.5 * growth("as torch does")


def test_the_environment_of_the_user_comes_first(monkeypatch: pytest.MonkeyPatch):
    first, *others = KEPT
    monkeypatch.setenv(first, "500")
    for name in others:
        monkeypatch.delenv(name, raising=False)
    bound_kernel_caches()
    assert os.environ[first] == "500"
    assert all(os.environ[name] == KEPT[name] for name in others)
