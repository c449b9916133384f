"""What the timed loops share: sizes, batches, the learning rate, and timing updates after two that warm up.

Needs numpy and torch, nothing of Heedful.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import peak_mb

PAD, BOS, EOS = 0, 2, 3
WARM = 2  # updates before the clock starts

Update = Callable[[Tensor, Tensor, Tensor], float]


def settings() -> dict:
    """The sizes that `training.py` passed; called when everything is imported, so memory until here is no model's."""
    found = json.loads(sys.argv[2])
    torch.set_num_threads(found["threads"])
    torch.manual_seed(found["seed"])
    found["imported_mb"] = peak_mb()
    return found


def batches() -> list[tuple[Tensor, Tensor, Tensor]]:
    """(source, decoder input, labels) of each batch, padded with 0."""
    arrays = np.load(sys.argv[1])
    count = len(arrays.files) // 3
    names = ("src", "tgt_in", "tgt_out")
    return [tuple(torch.from_numpy(arrays[f"{name}{i}"]) for name in names) for i in range(count)]  # type: ignore[misc]


def learning_rate(update: int, sizes: dict) -> float:
    """Linear to the peak, then falling with the square root: the same for every system."""
    return sizes["peak_rate"] * min(update / sizes["warmup"], (sizes["warmup"] / update) ** 0.5)


def report(update: Update, sizes: dict) -> None:
    """Time `update`, which returns the smoothed loss a token; print speed, losses and memory as one line of JSON."""
    chosen = batches()[: sizes["updates"] + WARM]
    losses = [update(*batch) for batch in chosen[:WARM]]
    started = time.perf_counter()
    for batch in chosen[WARM:]:
        losses.append(update(*batch))
    seconds = time.perf_counter() - started
    tokens = sum(int((labels != PAD).sum()) for _, _, labels in chosen[WARM:])
    found = {"tokens_per_second": tokens / seconds, "seconds": seconds, "losses": losses}
    print(json.dumps({**found, "peak_mb": peak_mb(), "imported_mb": sizes["imported_mb"]}))
