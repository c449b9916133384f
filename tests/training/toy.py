"""Endless batches of short sentences, a trainer for them, and everything it logs."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from tests.models.tiny import FIRST, VOCABULARY, tiny_config

from heedful.data.batch import Batch, collate
from heedful.models.interface import Seq2Seq
from heedful.models.transformer import Transformer
from heedful.tasks.table import compute_loss, task_of
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.config import TrainingConfig
from heedful.training.loop import Trainer, Validation

BASE: dict[str, object] = {
    "schedule": "linear",
    "learning_rate": 0.01,
    "warmup_steps": 2,
    "max_updates": 9,
    "validate_every": 4,
    "log_every": 3,
}


def training_config(changes: Mapping[str, object] | None = None) -> TrainingConfig:
    """The base configuration with some keys changed."""
    return TrainingConfig.model_validate({**BASE, **(changes or {})})


def pairs_of(index: int) -> list[tuple[list[int], list[int]]]:
    """Three pairs to reverse, of batch number `index`."""
    chance = random.Random(index)
    sources = [chance.choices(range(FIRST, VOCABULARY), k=chance.randint(1, 5)) for _ in range(3)]
    return [(source, source[::-1]) for source in sources]


def batch_at(index: int) -> Batch:
    """Batch number `index`, whose pairs are numbered on from 3 * index."""
    return collate(pairs_of(index), range(3 * index, 3 * index + 3))


class Log(NamedTuple):
    """What was logged, as (event, facts)."""

    lines: list[tuple[str, dict[str, object]]]

    def __call__(self, event: str, facts: Mapping[str, object]) -> None:
        self.lines.append((event, dict(facts)))

    def of(self, event: str) -> list[dict[str, object]]:
        """The facts of one kind of event."""
        return [facts for name, facts in self.lines if name == event]


class Toy(NamedTuple):
    """A trainer with its parts at hand."""

    trainer: Trainer
    model: Transformer
    checkpoints: CheckpointFolder
    log: Log

    def weights(self) -> torch.Tensor:
        """All numbers of the model, one after the other."""
        return torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])


def toy(
    folder: Path,
    changes: Mapping[str, object] | None = None,
    *,
    model_changes: Mapping[str, object] | None = None,
    keep: int = 2,
    seed: int = 0,
) -> Toy:
    """A trainer of a one-layer model with dropout, in double precision; `seed` is that of the first weights alone."""
    torch.manual_seed(seed)
    one_layer = {"n_encoder_layers": 1, "n_decoder_layers": 1, "dropout": 0.2}
    model = Transformer(tiny_config({**one_layer, **(model_changes or {})}), VOCABULARY, VOCABULARY).double()
    checkpoints, log = CheckpointFolder(folder, keep), Log([])
    trainer = Trainer(
        model,
        task_of(model).objective(training_config(changes)),
        training_config(changes),
        d_model=12,
        seed=5,
        checkpoints=checkpoints,
        log=log,
    )
    return Toy(trainer, model, checkpoints, log)


def held_out_loss(model: Seq2Seq) -> Validation:
    """The loss on a batch that training never sees."""
    loss = compute_loss(model, batch_at(-1), training_config())
    value = loss.nll.item() / loss.count
    return Validation({"loss": value}, -value)


def scores(*values: float) -> Callable[[Seq2Seq], Validation]:
    """A validation that gives these scores, one after the other."""
    left = iter(values)

    def validate(_model: Seq2Seq) -> Validation:
        score = next(left)
        return Validation({"made up": score}, score)

    return validate
