"""One training step of Heedful on made-up sentences, on any device: what growth.py and gpu.py time."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from flops import Sizes, training_flops

from heedful.data.batch import Batch
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.tasks.table import task_of
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.config import TrainingConfig
from heedful.training.loop import Trainer


class Timed(NamedTuple):
    """Updates of one shape."""

    seconds: list[float]  # one an update
    target_tokens: int  # of an update
    flops: float  # of an update, by formula


def random_batch(rows: int, length: int, vocabulary: int) -> Batch:
    """`rows` sentences of exactly `length` tokens on both sides."""
    generator = torch.Generator().manual_seed(1)
    src, tgt_out = (torch.randint(4, vocabulary, (rows, length), generator=generator) for _ in range(2))
    tgt_in = torch.cat([torch.full((rows, 1), 2), tgt_out[:, :-1]], dim=1)
    return Batch(src, torch.ones_like(src, dtype=torch.bool), tgt_in, tgt_out, indices=[])


def trainer_of(
    shape: Mapping[str, Any], training: TrainingConfig, scratch: Path, *, device: torch.device, seed: int = 1
) -> Trainer:
    """Heedful's trainer of a post-norm model. `shape` has d_model, d_ff, n_heads, n_layers, vocabulary, dropout."""
    config = TransformerConfig(
        d_model=shape["d_model"],
        n_heads=shape["n_heads"],
        d_ff=shape["d_ff"],
        n_encoder_layers=shape["n_layers"],
        n_decoder_layers=shape["n_layers"],
        norm="post",
        activation="relu",
        dropout=shape.get("dropout", 0.1),
    )
    model = build_model(config, shape["vocabulary"], shape["vocabulary"]).to(device)
    folder = CheckpointFolder(scratch, keep=1)
    return Trainer(
        model,
        task_of(model).objective(training),
        training,
        d_model=config.d_model,
        seed=seed,
        checkpoints=folder,
        log=lambda _event, _facts: None,
    )


def time_updates(
    shape: Mapping[str, Any], batch: Batch, *, precision: str, device: torch.device, updates: int, scratch: Path
) -> Timed:
    """Time `Trainer.update` after two that warm up. `shape` is that of `trainer_of`."""
    torch.manual_seed(1)
    training = TrainingConfig(precision=precision, warmup_steps=100)  # pyright: ignore[reportArgumentType]
    trainer = trainer_of(shape, training, scratch, device=device)
    moved = batch.to(device)
    seconds = []
    for number in range(1, updates + 3):
        started = time.perf_counter()
        trainer.update(number, lambda _index: moved)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    sizes = Sizes(shape["d_model"], shape["d_ff"], shape["n_layers"], shape["vocabulary"])
    sources, targets = ((ids != 0).sum(1).tolist() for ids in (batch.src, batch.tgt_out))
    return Timed(seconds[2:], batch.n_target, training_flops(sizes, sources, targets))
