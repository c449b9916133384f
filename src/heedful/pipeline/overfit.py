"""Driving a few pairs to zero loss: the quickest proof that model, objective and data fit together."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import torch

from heedful.data.batch import load_batch
from heedful.errors import CheckFailed
from heedful.events import Report
from heedful.models.device import device_of
from heedful.models.interface import Model
from heedful.models.weights import weights_of
from heedful.pipeline.prepare import prepare
from heedful.pipeline.train import new_model
from heedful.recipe.recipe import Recipe
from heedful.tasks.table import compute_loss, task_of
from heedful.tasks.task import EncodedCorpus
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.loop import Trainer, Validation
from heedful.training.objective import perplexity

UPDATES = 400
ZERO = 0.02  # nats a token: every token has a probability of 98 % or more, on average


class Overfit(NamedTuple):
    """Result of overfitting a few pairs."""

    pairs: int
    updates: int
    loss: float  # nats a token, without smoothing
    moved: list[str]  # parameters that changed
    still: list[str]  # those that did not: frozen, or cut off from the loss


def overfit(recipe: Recipe, k: int, report: Report) -> Overfit:
    """Train on the first k pairs without dropout and smoothing. Raises CheckFailed, with what to look at, if the
    loss stays above zero.
    """
    with tempfile.TemporaryDirectory() as scratch:
        recipe = _without_noise(recipe)
        prepared = prepare(recipe, Path(scratch) / "data", report)
        model = new_model(recipe, prepared)
        before = {name: tensor.clone() for name, tensor in weights_of(model).items()}
        loss = _drive(recipe, prepared, model, k, Path(scratch) / "checkpoints", report)
    after = weights_of(model)
    moved = [name for name, tensor in before.items() if not torch.equal(tensor, after[name])]
    result = Overfit(min(k, len(prepared.train)), UPDATES, loss, moved, [name for name in before if name not in moved])
    if loss > ZERO:
        raise CheckFailed(
            f"{result.pairs} pairs still have a loss of {loss:.3f} nats a token after {UPDATES} updates; "
            f"{len(result.still)} parameters never moved.",
            hint="Look, in this order, at: targets, direction of masks, normalisation, learning rate, frozen parts. "
            "More data is no remedy.",
        )
    return result


def training_rate(recipe: Recipe) -> float:
    """Return the recipe's own peak rate, where it names one; a noam factor is none."""
    return recipe.training.learning_rate if recipe.training.schedule == "linear" else 1e-3


def _without_noise(recipe: Recipe) -> Recipe:
    training = recipe.training.model_copy(
        update={
            "label_smoothing": 0.0,
            "schedule": "linear",
            "learning_rate": training_rate(recipe),
            "warmup_steps": UPDATES // 10,
            "max_updates": UPDATES,
            "validate_every": UPDATES,
            "accumulate": 1,
            "clip_norm": 1.0,
            "max_minutes": None,
            "scheduled_sampling": None,
            "positions": "all",
        }
    )
    return recipe.model_copy(update={"model": recipe.model.without_dropout, "training": training})


def _drive(recipe: Recipe, prepared: EncodedCorpus, model: Model, k: int, folder: Path, report: Report) -> float:
    batch = load_batch(prepared.train, range(min(k, len(prepared.train)))).to(device_of(model))

    def validate(trained: Model) -> Validation:
        loss = compute_loss(trained, batch, recipe.training)
        value = loss.nll.item() / loss.count
        return Validation({"loss": value, "perplexity": perplexity(value)}, -value)

    checkpoints = CheckpointFolder(folder, keep=1)
    training, d_model = recipe.training, recipe.model.d_model
    objective = task_of(model).objective(training)
    trainer = Trainer(
        model, objective, training, d_model=d_model, seed=recipe.seed, checkpoints=checkpoints, log=report
    )
    return -trainer.run(lambda _index: batch, validate).progress.best_score
