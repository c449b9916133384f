"""What can go wrong after an hour, looked at before the first update: disk, memory, shapes and a finite loss."""

import math
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from heedful.data.batch import Batch, BatchPlan, load_batch
from heedful.errors import ConfigError, HeedfulError
from heedful.models.device import device_of
from heedful.models.interface import Model
from heedful.models.weights import count_parameters
from heedful.recipe.recipe import Recipe
from heedful.tasks.table import compute_loss, task_of
from heedful.tasks.task import EncodedCorpus
from heedful.training.scheduled_sampling import preview

FLOAT = 4  # bytes


class Preflight(NamedTuple):
    """Result of a dry run, which it prints."""

    parameters: int
    batches_per_epoch: int
    padding_share: float
    shapes: dict[str, list[int]]  # of the largest batch
    loss: float  # of that batch, in nats a token, before any training
    memory_bytes: int  # estimate of the peak: weights, gradients, two moments, and activations of the largest batch
    disk_bytes: int  # of all checkpoints that will be kept at once
    disk_free: int
    p_gold: list[tuple[int, float]]  # of scheduled sampling, at a few updates; empty where there is none


def preflight(recipe: Recipe, prepared: EncodedCorpus, model: Model, plan: BatchPlan, folder: Path) -> Preflight:
    """Look before training. Raises ConfigError for too little disk, too long sequences, targets that have no place, or
    a shortlist before there is one; HeedfulError for a loss that is not finite.
    """
    if recipe.search.shortlist:
        hint = "Train without it, then run `heedful shortlist RUN`."
        raise ConfigError("`search.shortlist` needs a shortlist, which is made of a finished run.", hint=hint)
    parameters = count_parameters(model)
    kept = recipe.training.keep_last + 3  # best, last, the one being written
    disk_bytes = parameters * FLOAT * (kept + 2 * 2) + parameters * FLOAT  # two with moments; the bundle
    disk_free = shutil.disk_usage(next(place for place in (folder, *folder.absolute().parents) if place.exists())).free
    missing = disk_bytes - sum(file.stat().st_size for file in folder.glob("checkpoints/*/*"))
    if disk_free < missing:
        raise ConfigError(
            f"{folder}: {disk_free / 1e6:,.0f} MB are free, but checkpoints need {missing / 1e6:,.0f} MB.",
            hint="Free some space, choose another `run` directory, or lower training.keep_last.",
        )
    batch = _largest_batch(prepared, plan)
    _check_positions(model.longest, prepared)
    by_loss = recipe.training.select == "loss"
    task_of(model).check_pairs(model, recipe.model, prepared, selects_by_loss=by_loss)
    with torch.no_grad():
        loss = compute_loss(model.eval(), batch.to(device_of(model)), recipe.training)
    nll = float(loss.nll) / loss.count
    if not math.isfinite(nll):
        raise HeedfulError(
            f"The loss before training is {nll}.", hint='Try training.precision = "float32"; then report this.'
        )
    shapes = {name: list(tensor.shape) for name, tensor in zip(Batch._fields[:4], batch[:4], strict=True)}
    kept = recipe.model.activation_count(batch.src.shape[1], batch.tgt_in.shape[1])
    memory = parameters * FLOAT * 4 + len(batch.src) * kept * FLOAT
    share = plan.padding_share(0)
    p_gold = preview(recipe.training)
    return Preflight(parameters, plan.batches_per_epoch, share, shapes, nll, memory, disk_bytes, disk_free, p_gold)


def _largest_batch(prepared: EncodedCorpus, plan: BatchPlan) -> Batch:
    """Return the batch with the most padded tokens: if this one fits, all do."""
    longest = np.maximum(prepared.train.source_lengths, prepared.train.target_lengths) + 1
    return load_batch(
        prepared.train, max(plan.epoch(0), key=lambda numbers: len(numbers) * int(longest[numbers].max()))
    )


def _check_positions(readable: int | None, prepared: EncodedCorpus) -> None:
    """Check that the model can read every pair to its end, whichever batch it is in."""
    for split, store in (("training", prepared.train), ("dev", prepared.dev)):
        longest = 1 + max(int(lengths.max()) for lengths in (store.source_lengths, store.target_lengths))
        if readable is not None and longest > readable:
            what = f"The longest {split} pair has {longest} tokens"
            way_out = "lower data.max_length" if split == "training" else "remove the pair"
            raise ConfigError(
                f"{what}, but model.max_positions is {readable}.",
                hint=f"Set model.max_positions to at least {longest}, or {way_out}.",
            )
