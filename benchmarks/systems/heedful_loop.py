"""Heedful's own update: the Trainer's, with clipping, checks and sums."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from clock import report, settings
from step import trainer_of
from torch import Tensor

from heedful.data.batch import Batch
from heedful.training.config import TrainingConfig
from heedful.training.kernel_caches import bound_kernel_caches

bound_kernel_caches()
sizes = settings()
training = TrainingConfig(
    label_smoothing=sizes["smoothing"],
    precision=sys.argv[3],  # type: ignore[arg-type]
    schedule="inverse_sqrt",
    learning_rate=sizes["peak_rate"],
    warmup_steps=sizes["warmup"],
    clip_norm=sizes["clip_norm"],
)

with TemporaryDirectory() as scratch:
    trainer = trainer_of(sizes, training, Path(scratch), device=torch.device("cpu"), seed=sizes["seed"])
    numbers = iter(range(1, 10_000))

    def update(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
        batch = Batch(src, src != 0, tgt_in, tgt_out, indices=[])
        total = trainer.update(next(numbers), lambda _index: batch).total
        return total.smoothed / total.count

    report(update, sizes)
