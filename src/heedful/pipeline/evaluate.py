"""Evaluating a finished model: on a split of its recipe's data, or on items of one's own; kept with its run."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from heedful.config import parse_overrides
from heedful.errors import ConfigError
from heedful.evaluation.evaluate import Evaluation, Occasion, keep
from heedful.events import Report, silent
from heedful.models.bundle import is_bundle
from heedful.pipeline.engines import EngineChoice, is_native, open_engine
from heedful.pipeline.evaluate_split import TestSet, describe_search, read_test_set, score_test_set
from heedful.pipeline.load import recipe_file, run_around
from heedful.recipe.recipe import Recipe, load_stored, of_run
from heedful.records.run import Run
from heedful.records.score_history import times_scored

MAY_CHANGE = ("data", "evaluation", "search")  # tables of the recipe that the weights do not depend on
NATIVE = EngineChoice()


class EvaluatedModel(NamedTuple):
    """An evaluation and where it is kept. `run` is None where it belongs to no finished run; `times_scored` counts how
    often the run has been scored on this split, and is None where there is no run.
    """

    evaluation: Evaluation
    split: str
    decode: str
    run: Run | None
    times_scored: int | None


def evaluate(model: Path | str, split: str = "test", overrides: Sequence[str] = ()) -> Evaluation:
    """Score a run, a bundle or an export on a split of its recipe's data, and keep the results with its run.

    Each score has its 95 % interval, its count and its signature. `overrides` are `key=value` of the tables `data`,
    `evaluation` and `search`. Raises ConfigError for a split or a setting that is not there.
    """
    return evaluate_model(Path(model), split, overrides).evaluation


def evaluate_model(
    model: Path,
    items: TestSet | str,
    overrides: Sequence[str] = (),
    choice: EngineChoice = NATIVE,
    report: Report = silent,
) -> EvaluatedModel:
    """Score a model on a split, or on items of one's own, by an engine of one's choice.

    Outputs, results and errors are kept with its run, unless the items are one's own, several models answer, or the
    engine is another. Reports `remark` for what a user should know of the engine, and `translating`.
    """
    recipe = _recipe(model, overrides)
    own = isinstance(items, TestSet)
    test_set = items if isinstance(items, TestSet) else read_test_set(recipe.data, items)
    run = None if own or choice.others or not is_native(model, choice) else run_around(model)
    kept = run if run is not None and is_bundle(run.bundle) else None  # what is of no finished model is not
    with kept or nullcontext(), open_engine(model, choice, test_set.sources, tokens=False) as opened:
        for remark in opened.remarks:
            report("remark", {"text": remark})
        if choice.precision is not None or not is_native(model, choice):  # an engine keeps its own
            recipe = _in_precision(recipe, opened.engine.search.precision)
        report("translating", {"lines": len(test_set.sources)})
        found = score_test_set(opened.engine.with_search(recipe.search), test_set, recipe)
        decode = describe_search(recipe.search, recipe.model)
        if kept is not None:
            _keep(kept, found, recipe, test_set.split, decode)
        return EvaluatedModel(found, test_set.split, decode, kept, None if run is None else _count(run, test_set.split))


def _recipe(model: Path, overrides: Sequence[str]) -> Recipe:
    """Return the recipe that made the model, with other settings of what may change after training."""
    fixed = [table for table in parse_overrides(overrides).values if table not in MAY_CHANGE]
    if fixed:
        raise ConfigError(
            f"`{fixed[0]}` cannot be changed after training.", hint=f"Here one can set {', '.join(MAY_CHANGE)}."
        )
    recipe = load_stored(recipe_file(model), overrides).config
    run = run_around(model)
    return recipe if run is None else of_run(recipe, run)


def _in_precision(recipe: Recipe, precision: str) -> Recipe:
    return recipe.model_copy(update={"search": recipe.search.model_copy(update={"precision": precision})})


def _keep(run: Run, found: Evaluation, recipe: Recipe, split: str, decode: str) -> None:
    earlier = [row for row in run.read_results() if row.signature]
    checkpoint, update = (earlier[-1].checkpoint, earlier[-1].update) if earlier else ("model", 0)
    keep(run, found, Occasion(run.name, recipe.seed, split, checkpoint, decode, update, chosen=True))


def _count(run: Run, split: str) -> int:
    """Note this evaluation in the run's log, and count all there were with it."""
    run.log("evaluated", {"split": split})
    return times_scored(run.read_log(), split)
