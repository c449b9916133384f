"""Going on with a run: whether there is something to go on with, what of the recipe may change, and what is said.

Knows no model.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful.config import to_tree
from heedful.errors import HeedfulError
from heedful.events import Report
from heedful.recipe.recipe import Recipe
from heedful.records.run import Run
from heedful.training.checkpoint import CheckpointFolder

LIMITS = ("max_updates", "max_minutes", "patience", "threads", "device")  # of training
CHANGEABLE = ("run", *(f"training.{name}" for name in LIMITS))


def has_trained(folder: Path) -> bool:
    """Return whether a run has something to lose: a checkpoint, whatever has become of it, or a model."""
    run = Run(folder)
    begun = CheckpointFolder(run.checkpoints, keep=1).is_begun() or run.bundle.exists()
    return begun or _has_logged_checkpoints(run)


def _has_logged_checkpoints(run: Run) -> bool:
    """Return whether the log went on after a validation or an interruption, for which a checkpoint is written."""
    lines = [line for line in run.read_log() if isinstance(line.get("update"), int)]
    first = next((line["update"] for line in lines if line["event"] == "validation"), None)
    stopped = any(line["event"] == "interrupted" for line in lines)
    return stopped or (first is not None and any(line["update"] > first for line in lines))


def kept_limits(recipe: Recipe, stored: Recipe | None) -> Recipe:
    """Return the recipe with the stored run's limits of training where it has none of its own."""
    if stored is None:
        return recipe
    said = recipe.training.model_fields_set
    kept = {name: getattr(stored.training, name) for name in LIMITS if name not in said}
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=kept)})


def learnt_from(run: Run) -> Mapping[str, Any]:
    """Return what the model of a run has learnt from, as its log says; nothing where the log does not."""
    return next(reversed(run.read_log("prepared")), {})


def report_resumption(run: Run, recipe: Recipe, changed: Sequence[str], report: Report) -> None:
    """Say from where a run goes on, up to where, and what of its recipe has changed.

    Raises HeedfulError where it has trained and no checkpoint is left.
    """
    if not has_trained(run.folder):
        return
    checkpoints = CheckpointFolder(run.checkpoints, recipe.training.keep_last)
    last = checkpoints.last()
    if last is None:
        hint = f"Put {run.checkpoints} back from a copy, or begin another run: run=NAME."
        raise HeedfulError(f"{run.folder} has trained, but no checkpoint is left to go on from.", hint=hint)
    limits = {name: value for name, value in to_tree(recipe.training).items() if name in LIMITS}
    facts = {"from": last.name, "done": checkpoints.last_progress().update, **limits, "changed": list(changed)}
    report("resumed", facts)
