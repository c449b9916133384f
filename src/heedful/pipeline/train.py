"""The main road: a recipe in, a run directory with a trained, scored bundle out."""

import math
import shlex
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from heedful.config import to_toml
from heedful.data.batch import Batch, BatchPlan, load_batch
from heedful.errors import CannotWrite, ConfigError, HeedfulError, Interrupted
from heedful.evaluation.metrics import metrics_for
from heedful.events import Report, silent
from heedful.models.device import choose_device, device_of
from heedful.models.interface import Model
from heedful.pipeline.evaluate_split import TestSet, check_items, dev_search, final_split, read_test_set, score_test_set
from heedful.pipeline.finish import FinishedRun, finish
from heedful.pipeline.prefetch import Prefetch
from heedful.pipeline.preflight import Preflight, preflight
from heedful.pipeline.prepare import check_surroundings, prepare
from heedful.pipeline.resume import CHANGEABLE, has_trained, kept_limits, learnt_from, report_resumption
from heedful.pipeline.speed import with_resolved_precision
from heedful.recipe.recipe import Recipe, load_recipe, of_run, stored_recipe
from heedful.recipe.tables import build_model
from heedful.records.run import Run, is_run
from heedful.seeds import seed_of
from heedful.tasks.table import compute_loss, task_of, translator_of
from heedful.tasks.task import EncodedCorpus
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.divergence import Diverged
from heedful.training.interrupt import stop_on_signal, stop_on_termination
from heedful.training.kernel_caches import bound_kernel_caches
from heedful.training.loop import Trainer, TrainingOutcome, Validation
from heedful.training.objective import perplexity

MANY_BATCHES = 2000  # between two lines of the log: whoever waits is told


class TrainedRun(NamedTuple):
    """A finished run."""

    run: Path
    outcome: TrainingOutcome
    finished: FinishedRun


def train(
    recipe: Recipe | Path | str,
    folder: Path | str | None = None,
    *,
    resume: bool = False,
    command: Sequence[str] = (),
    report: Report = silent,
) -> TrainedRun:
    """Train as a recipe (or the file of one) says; with `resume`, go on from the run's last checkpoint.

    The run directory is `folder`, or else the recipe's `run`, or else `runs/` and the name of the file or preset.

    Raises ConfigError before any work if the directory holds a run and `resume` is false, or one with another recipe
    (a run that has not kept a single update is begun anew); Interrupted, with a checkpoint written, on Ctrl-C.
    """
    bound_kernel_caches()
    path = None if isinstance(recipe, Recipe) else Path(recipe)
    resolved: Recipe = recipe if isinstance(recipe, Recipe) else load_recipe(path)
    folder = run_folder(resolved, path) if folder is None else Path(folder)
    _refuse_unasked_resumption(folder, resume)
    check_surroundings(resolved)
    with stop_on_termination(), Run.at(folder) as run:  # locked before anything is read that decides what is written
        _refuse_unasked_resumption(folder, resume)
        stored = stored_recipe(folder) if resume else None
        resolved = with_resolved_precision(kept_limits(resolved, stored), stored)
        begun_with = None if stored is None else to_toml(stored)
        changed = run.begin(to_toml(resolved), command, _changeable(folder), begun_with)
        try:
            return _train(of_run(resolved, run), run, report, changed)
        except KeyboardInterrupt:
            message = "Interrupted; what was finished is kept."
            raise Interrupted(message, hint=f"Go on with: {resume_command(folder)}") from None
        except CannotWrite as refusal:
            hint = f"What was written before is whole. Free some space, or mend it; then: {resume_command(folder)}"
            raise HeedfulError(refusal.message, hint=hint) from refusal


def run_folder(recipe: Recipe, path: Path | None) -> Path:
    """Return the default folder of a run: the recipe's `run`, else `runs/` and the name of its file or preset."""
    name = path.stem if path is not None else recipe.preset or "run"
    return Path(recipe.run) if recipe.run else Path("runs") / name


def resume_command(folder: Path) -> str:
    """Return the command that resumes a run."""
    return f"heedful train --resume {shlex.quote(str(folder))}"


def dry_run(recipe: Recipe, folder: Path, report: Report = silent) -> Preflight:
    """Do everything short of training, in a scratch folder: prepare data, make one batch, compute a finite loss, and
    look at the free space on the disk of the run directory `folder`, which is left as it is.
    """
    with tempfile.TemporaryDirectory() as scratch:
        prepared = prepare(recipe, Path(scratch), report)
        model = new_model(recipe, prepared)
        found = preflight(recipe, prepared, model, plan_of(recipe, prepared), folder)
        _check_measurable(recipe, prepared, model, dev_sample(recipe), report)
        return found


def new_model(recipe: Recipe, prepared: EncodedCorpus) -> Model:
    """Build the model as it is before the first update: a function of the recipe, its seed, and the vocabularies."""
    torch.manual_seed(seed_of(recipe.seed, "initial weights"))
    try:
        target = prepared.tokenizers.target
        model = build_model(recipe.model, len(prepared.tokenizers.source), len(target))
        task_of(model).prepare_model(model, prepared.tokenizers)
        return model.to(choose_device(recipe.training.device))
    except ValueError as error:
        raise ConfigError(str(error)) from None


def plan_of(recipe: Recipe, prepared: EncodedCorpus) -> BatchPlan:
    """Plan the order of batches over endless epochs."""
    train = prepared.train
    return BatchPlan(train.source_lengths, train.target_lengths, recipe.training.max_tokens, recipe.seed)


def _train(recipe: Recipe, run: Run, report: Report, changed: Sequence[str] = ()) -> TrainedRun:
    if recipe.training.threads is not None:
        torch.set_num_threads(recipe.training.threads)

    def log(event: str, facts: Mapping[str, Any]) -> None:
        run.log(event, facts)
        report(event, facts)

    report_resumption(run, recipe, changed, log)
    prepared = prepare(recipe, run.data, log, learnt=learnt_from(run) if has_trained(run.folder) else None)
    model, plan = new_model(recipe, prepared), plan_of(recipe, prepared)
    log("preflight", preflight(recipe, prepared, model, plan, run.folder)._asdict())
    training = recipe.training
    if training.accumulate * training.log_every > MANY_BATCHES:
        report("waiting", {"accumulate": training.accumulate, "log_every": training.log_every})
    dev_items = dev_sample(recipe)
    _check_measurable(recipe, prepared, model, dev_items, log)
    checkpoints = CheckpointFolder(run.checkpoints, recipe.training.keep_last)
    trainer = Trainer(
        model,
        task_of(model).objective(recipe.training),
        recipe.training,
        d_model=recipe.model.d_model,
        seed=recipe.seed,
        checkpoints=checkpoints,
        log=log,
    )
    run.truncate_log(checkpoints.last_progress().update)
    try:
        with stop_on_signal() as stop_requested, Prefetch(_batches(recipe, prepared, plan)) as batch_at:
            outcome = trainer.run(batch_at, validator(recipe, prepared, dev_items), stop_requested)
    except Diverged as error:
        lines = sorted({prepared.train.origin(index) + 1 for index in error.indices})
        batch = f" Its batch: training pairs {_short(lines)}." if lines else ""
        raise type(error)(f"{error.message}{batch}", lines, hint=error.hint or "") from None
    except Interrupted as error:
        raise Interrupted(error.message, hint=f"Go on with: {resume_command(run.folder)}") from None
    log("ended", {"reason": outcome.reason, **_progress_facts(outcome)})
    return TrainedRun(run.folder, outcome, finish(recipe, run, model, prepared, checkpoints, log))


def _batches(recipe: Recipe, prepared: EncodedCorpus, plan: BatchPlan) -> Callable[[int], Batch]:
    device = choose_device(recipe.training.device)

    def batch_at(index: int) -> Batch:
        cut = seed_of(recipe.seed, "cut", index) >> 40
        return load_batch(prepared.train, plan.batch(index), prepared.tokenizers, cut).to(device)

    return batch_at


def validator(recipe: Recipe, prepared: EncodedCorpus, items: TestSet) -> Callable[[Model], Validation]:
    """Return what measures dev loss without smoothing, and decodes and scores `items` as `heedful evaluate` does."""
    plan = BatchPlan(prepared.dev.source_lengths, prepared.dev.target_lengths, recipe.training.max_tokens, seed=0)
    search = dev_search(recipe)

    def validate(model: Model) -> Validation:
        batches = (load_batch(prepared.dev, numbers).to(device_of(model)) for numbers in plan.epoch(0))
        losses = [compute_loss(model, batch, recipe.training) for batch in batches]
        tokens = sum(one.count for one in losses)
        loss = sum(float(one.nll) for one in losses) / tokens
        values = {"loss": loss, "perplexity": perplexity(loss), "tokens": tokens}
        if items.sources and not math.isnan(loss):  # else training has diverged, and says so itself
            found = score_test_set(translator_of(model, prepared.tokenizers, search), items, recipe)
            values["sentences"] = len(items.sources)
            values.update({score.metric: score.value for score in found.scores})
        return Validation(values, _selected(recipe, values))

    return validate


def _check_measurable(
    recipe: Recipe, prepared: EncodedCorpus, model: Model, dev_items: TestSet, report: Report
) -> None:
    """Check, before training, that the test file exists and can be scored."""
    final = final_split(recipe.data)
    judging = read_test_set(recipe.data, final)
    for items in (dev_items, judging):
        check_items(recipe, model, prepared.tokenizers, items)
    if final != "dev":  # of dev this was said before
        task_of(model).check_final_split(model, prepared.tokenizers, judging.held, report)


def dev_sample(recipe: Recipe) -> TestSet:
    """Draw the dev items that validations decode: the same random ones every time."""
    items = read_test_set(recipe.data, "dev")
    order = np.random.default_rng(0).permutation(len(items.sources))
    return items.only(sorted(order[: recipe.evaluation.dev_sentences].tolist()))


def _selected(recipe: Recipe, values: Mapping[str, float]) -> float:
    """Return the number that chooses the best checkpoint, turned so that higher is better."""
    select = recipe.training.select
    if select == "loss":
        return -values["loss"]
    (metric,) = metrics_for([select])
    return values[select] if metric.higher_is_better else -values[select]


def _refuse_unasked_resumption(folder: Path, resume: bool) -> None:
    if has_trained(folder) and not resume:
        hint = f"Go on with it ({resume_command(folder)}), or choose another directory: run=NAME."
        raise ConfigError(f"{folder} holds a run already.", hint=hint)
    if resume and not is_run(folder):
        raise ConfigError(f"{folder} holds no run to resume.", hint="Leave out --resume to begin one.")


def _changeable(folder: Path) -> Collection[str] | None:
    """Return the keys that may differ from those of the existing run: all of them (None), while no update is kept."""
    return CHANGEABLE if has_trained(folder) or not is_run(folder) else None


def _progress_facts(outcome: TrainingOutcome) -> dict[str, Any]:
    progress = outcome.progress
    return {"update": progress.update, "seconds": progress.seconds, "best_update": progress.best_update}


def _short(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:10]))
    return shown if len(lines) <= 10 else f"{shown} and {len(lines) - 10} more"
