"""What the timed loops share: reading batches, and timing updates after two that warm up. Needs numpy and torch."""

import json
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

PAD = 0


def settings() -> dict:
    """The sizes that `training.py` passed."""
    found = json.loads(sys.argv[2])
    torch.set_num_threads(found["threads"])
    torch.manual_seed(1)
    return found


def batches() -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """(source, decoder input, labels) of each batch, padded with 0."""
    arrays = np.load(sys.argv[1])
    count = len(arrays.files) // 3
    return [
        tuple(torch.from_numpy(arrays[f"{name}{i}"]) for name in ("src", "tgt_in", "tgt_out")) for i in range(count)
    ]  # type: ignore[misc]


def report(update: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], float]) -> None:
    """Time `update` on every batch but the first two, and print target tokens a second and the last loss."""
    all_batches = batches()
    for batch in all_batches[:2]:
        update(*batch)
    started = time.perf_counter()
    loss = 0.0
    for batch in all_batches[2:]:
        loss = update(*batch)
    seconds = time.perf_counter() - started
    tokens = sum(int((labels != PAD).sum()) for _, _, labels in all_batches[2:])
    print(json.dumps({"target_tokens_per_second": tokens / seconds, "last_loss": loss}))
