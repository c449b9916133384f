"""Training of small models on batches that are made as they are asked for."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.training.toy import Log

from heedful.data.batch import Batch
from heedful.models.interface import Model
from heedful.tasks.table import task_of
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.config import TrainingConfig
from heedful.training.loop import Trainer, Validation


def learn(
    model: Model,
    batch_at: Callable[[int], Batch],
    folder: Path,
    settings: Mapping[str, object],
    validate: Callable[[Model], Validation] = lambda _model: Validation({}, 0.0),
) -> None:
    """Train a model in place, with a linear schedule, these settings, and one validation at the end."""
    whole = {"schedule": "linear", "validate_every": settings["max_updates"], **settings}
    training = TrainingConfig.model_validate(whole)
    objective, checkpoints = task_of(model).objective(training), CheckpointFolder(folder, 1)
    trainer = Trainer(model, objective, training, d_model=1, seed=1, checkpoints=checkpoints, log=Log([]))
    trainer.run(batch_at, validate)  # the width has no part in a linear schedule
