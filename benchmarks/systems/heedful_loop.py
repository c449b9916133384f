"""Heedful's own update: the Trainer's, with clipping, checks and sums."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from clock import report, settings
from torch import Tensor

from heedful.data.batch import Batch
from heedful.models.build import build_model
from heedful.models.config import TransformerConfig
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.config import TrainingConfig
from heedful.training.kernel_caches import bound_kernel_caches
from heedful.training.loop import Trainer

bound_kernel_caches()
sizes = settings()
model = build_model(
    TransformerConfig(
        d_model=sizes["d_model"],
        n_heads=sizes["n_heads"],
        d_ff=sizes["d_ff"],
        n_encoder_layers=sizes["n_layers"],
        n_decoder_layers=sizes["n_layers"],
        norm="post",
        activation="relu",
        dropout=sizes["dropout"],
    ),
    sizes["vocabulary"],
    sizes["vocabulary"],
)
training = TrainingConfig(
    label_smoothing=sizes["smoothing"],
    precision=sys.argv[3],  # type: ignore[arg-type]
    schedule="inverse_sqrt",
    learning_rate=sizes["peak_rate"],
    warmup_steps=sizes["warmup"],
    clip_norm=sizes["clip_norm"],
)

with TemporaryDirectory() as scratch:
    folder = CheckpointFolder(Path(scratch), keep=1)
    trainer = Trainer(
        model,
        training,
        d_model=sizes["d_model"],
        seed=sizes["seed"],
        checkpoints=folder,
        log=lambda _event, _facts: None,
    )
    numbers = iter(range(1, 10_000))

    def update(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
        batch = Batch(src, src != 0, tgt_in, tgt_out, indices=[])
        total = trainer.update(next(numbers), lambda _index: batch).total
        return total.smoothed / total.count

    report(update, sizes)
