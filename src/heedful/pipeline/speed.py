"""How fast this machine trains a model: measured on made-up batches of the right shape, before anything is read.

Knows a recipe's model and training sections only.
"""

import time
from typing import Literal, NamedTuple

import torch

from heedful.data.batch import Batch, collate
from heedful.models.device import choose_device
from heedful.recipe.recipe import Recipe
from heedful.recipe.tables import build_model
from heedful.tasks.table import compute_loss, task_of
from heedful.training.loop import build_optimizer

Precision = Literal["float32", "bfloat16"]
REPEATS = 8
WARM_UP = 3
FEW_SYMBOLS = 100  # of a vocabulary of characters or phones
SHARE = 0.8  # of the measured speed: real batches differ, and machines have other work


class PrecisionBenchmark(NamedTuple):
    """Result of the benchmark of precisions: what was measured, and how much fits into the time."""

    precision: Precision
    seconds_an_update: float
    max_updates: int


def benchmark_precisions(
    recipe: Recipe, source_size: int, target_size: int, lengths: tuple[int, int], minutes: float
) -> PrecisionBenchmark:
    """Find the faster precision on this machine, and how many updates it makes in so many minutes.

    `lengths` are typical ones of source and target, in tokens.
    """
    rows = max(1, recipe.training.max_tokens // (max(lengths) + 1))
    batch = collate([([5] * lengths[0], [5] * lengths[1])] * rows, range(rows))
    batch = batch.to(choose_device(recipe.training.device))
    measured: dict[Precision, float] = {
        precision: _seconds(recipe, batch, precision, source_size, target_size) for precision in ("float32", "bfloat16")
    }
    precision = min(measured, key=lambda name: measured[name])
    return PrecisionBenchmark(precision, measured[precision], max(100, int(SHARE * 60 * minutes / measured[precision])))


def with_resolved_precision(recipe: Recipe, stored: Recipe | None) -> Recipe:
    """Replace `precision = "auto"` by a choice: that of the stored run, or the faster one here.

    What is chosen stands in the run's resolved configuration, so that the run can be repeated.
    """
    if recipe.training.precision != "auto":
        return recipe
    precision = stored.training.precision if stored is not None else _quicker(recipe)
    return recipe.model_copy(update={"training": recipe.training.model_copy(update={"precision": precision})})


def _quicker(recipe: Recipe) -> Precision:
    source = recipe.tokenizer.source
    target = source if recipe.tokenizer.joint else recipe.tokenizer.target or source
    sizes = [side.vocab_size if side.kind == "sentencepiece" else FEW_SYMBOLS for side in (source, target)]
    lengths = task_of(recipe.model).usual_lengths(recipe.model)
    return benchmark_precisions(recipe, sizes[0], sizes[1], lengths, minutes=1).precision


def _seconds(recipe: Recipe, batch: Batch, precision: Precision, source_size: int, target_size: int) -> float:
    """Return the median time of an update."""
    training = recipe.training.model_copy(update={"precision": precision})
    model = build_model(recipe.model, source_size, target_size).to(batch.src.device).train()
    optimizer = build_optimizer(model, training)
    times: list[float] = []
    for _ in range(WARM_UP + REPEATS):
        started = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        compute_loss(model, batch, training).smoothed.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(time.perf_counter() - started)
    return sorted(times[WARM_UP:])[REPEATS // 2]
