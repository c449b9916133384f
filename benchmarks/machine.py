"""The machine's own limit: how many floating-point operations a second its matrix products reach.

python benchmarks/machine.py THREADS      # prints JSON
"""

import json
import sys
import time

import torch

SIZE = 2048


def matmul_rate(dtype: torch.dtype, device: str = "cpu", size: int = SIZE, seconds: float = 1.0) -> float:
    """Operations a second of [size size] @ [size size], the best of many products over so many seconds."""
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        left @ right
        if device != "cpu":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[1]))
    rates = {name: matmul_rate(getattr(torch, name)) for name in ("float32", "bfloat16")}
    print(json.dumps({name: rate / 1e9 for name, rate in rates.items()}))
