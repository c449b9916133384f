"""Training on a GPU in bfloat16: target tokens a second and the fraction of the matrix peak, paper-base and paper-big.

The peak is measured beside it: the best of many bfloat16 products of 8,192 x 8,192 matrices. Batches hold 25,000
target tokens in sentences of 25, as the paper's; one update is one of `heedful train`. Without a CUDA GPU the program
says so and ends with 2.

    python benchmarks/gpu.py [--updates 20] [--json FILE]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from machine import matmul_rate
from measure import spread
from rows import Row, text_table
from step import random_batch, time_updates

MODELS: dict[str, dict[str, Any]] = {
    "paper-base": {"d_model": 512, "d_ff": 2048, "n_heads": 8, "n_layers": 6, "vocabulary": 37_000},
    "paper-big": {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "n_layers": 6, "vocabulary": 37_000},
}
ROWS, LENGTH = 1000, 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=20, help="timed updates, after two that are not")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("This benchmark needs a CUDA GPU, and torch sees none.", file=sys.stderr)
        print("hint: install a build of torch for your GPU; benchmarks/training.py measures the CPU.", file=sys.stderr)
        raise SystemExit(2)
    device = torch.device("cuda")
    part = run(MODELS, device, updates=arguments.updates, rows=ROWS, length=LENGTH, matrix=8192)
    part["details"]["gpu"] = torch.cuda.get_device_name(device)
    print(part["details"]["gpu"])
    print(text_table(part["rows"]))
    if arguments.json:
        arguments.json.write_text(json.dumps(part, indent=1) + "\n")


def run(
    models: Mapping[str, Mapping[str, Any]], device: torch.device, *, updates: int, rows: int, length: int, matrix: int
) -> dict[str, Any]:
    """Rows and details, ready for JSON, on any device; the product rate is measured before each model."""
    found: list[Row] = []
    details: dict[str, Any] = {}
    group = f"Training on {device.type}, bfloat16, {rows * length:,} target tokens an update (target tokens/s)"
    for name, shape in models.items():
        peak = matmul_rate(torch.bfloat16, device.type, size=matrix)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        with tempfile.TemporaryDirectory() as scratch:
            batch = random_batch(rows, length, shape["vocabulary"])
            timed = time_updates(
                shape, batch, precision="bfloat16", device=device, updates=updates, scratch=Path(scratch)
            )
        fraction = spread([timed.flops / seconds / peak for seconds in timed.seconds]).median
        note = f"{fraction:.0%} of the measured {peak / 1e12:,.3g} TFLOP/s"
        if device.type == "cuda":
            note += f"; peak {torch.cuda.max_memory_allocated() / 1e9:.1f} GB"
        speeds = spread([timed.target_tokens / seconds for seconds in timed.seconds])
        found.append(Row(group, name, speeds, None, note))
        details[name] = {**timed._asdict(), "matmul_flops_per_second": peak, "fraction": fraction}
    return {"rows": found, "details": details}


if __name__ == "__main__":
    main()
