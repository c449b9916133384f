"""Choosing other weights for a finished run: the mean of its last checkpoints, or its best one."""

from pathlib import Path
from typing import NamedTuple

import torch

from heedful.errors import CheckFailed, ConfigError, counted
from heedful.models.bundle import is_bundle, load_bundle
from heedful.models.interface import Model
from heedful.models.weights import average, load_weights
from heedful.pipeline.finish import FinishedRun, choose, finish
from heedful.pipeline.prepare import prepare
from heedful.pipeline.resume import learnt_from
from heedful.pipeline.train import dev_sample, validator
from heedful.recipe.recipe import Recipe, stored_recipe
from heedful.recipe.tables import KINDS, build_model
from heedful.records.run import Run
from heedful.tasks.task import EncodedCorpus
from heedful.training.checkpoint import CheckpointFolder


def average_run(folder: Path, last: int, *, force: bool = False) -> FinishedRun:
    """Bundle and score the mean of the `last` validated checkpoints (0: the best one).

    Raises ConfigError if the run has fewer, and CheckFailed where the model that is there is better on dev, by what
    chose it in training, unless `force` says to replace it.
    """
    with Run.open(folder) as run:
        recipe = stored_recipe(folder)
        checkpoints = CheckpointFolder(run.checkpoints, recipe.training.keep_last)
        there = len(checkpoints.validated())
        if there < max(last, 1):
            found = counted(there, "validated checkpoint")
            hint = f"All of them: --last {there}." if there else "Train on: heedful train --resume RUN."
            raise ConfigError(
                f"The run {folder} has {found}, but {max(last, 1)} are to be averaged (--last).",
                hint=f"{hint} How many are kept is training.keep_last.",
            )
        training = recipe.training.model_copy(update={"average_last": last})
        prepared = prepare(recipe, run.data, run.log, learnt=learnt_from(run))
        tokenizers = prepared.tokenizers
        model = build_model(recipe.model, len(tokenizers.source), len(tokenizers.target))
        if is_bundle(run.bundle) and not force:
            chosen = choose(checkpoints, last)
            load_weights(model, average(chosen.files), run.checkpoints)
            _refuse_worse(recipe, prepared, NamedWeights(chosen.name, model), load_bundle(run.bundle, KINDS).model)
        return finish(recipe.model_copy(update={"training": training}), run, model, prepared, checkpoints, run.log)


class NamedWeights(NamedTuple):
    """A model, and what results.csv calls it."""

    name: str
    model: Model


def _refuse_worse(recipe: Recipe, prepared: EncodedCorpus, new: NamedWeights, old: Model) -> None:
    """Raise CheckFailed where a new model is worse on dev than the old one; test has no say in it."""
    validate, select = validator(recipe, prepared, dev_sample(recipe)), recipe.training.select
    with torch.no_grad():
        ours, theirs = (validate(model.eval()) for model in (new.model, old))
    if ours.score < theirs.score:
        figures = f"{select} {ours.values[select]:.4f} against {theirs.values[select]:.4f}"
        hint = "--force replaces it all the same. The checkpoints stay as they are."
        raise CheckFailed(f"{new.name} is worse on dev than the model that is there: {figures}.", hint=hint)
