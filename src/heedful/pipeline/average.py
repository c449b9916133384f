"""Choosing other weights for a finished run: the mean of its last checkpoints, or its best one."""

from pathlib import Path

from heedful.errors import ConfigError, counted
from heedful.pipeline.finish import Finished, finish
from heedful.recipe.recipe import stored_recipe
from heedful.recipe.tables import build_model
from heedful.records.run import Run
from heedful.text.tokenizer import load_tokenizers
from heedful.training.checkpoint import CheckpointFolder


def average_run(folder: Path, last: int) -> Finished:
    """Bundle and score the mean of the `last` validated checkpoints (0: the best one).

    Raises ConfigError if the run has fewer.
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
        tokenizers = load_tokenizers(run.data)
        model = build_model(recipe.model, len(tokenizers.source), len(tokenizers.target))
        return finish(recipe.model_copy(update={"training": training}), run, model, tokenizers, checkpoints, run.log)
