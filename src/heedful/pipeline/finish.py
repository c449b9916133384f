"""From the last checkpoint to the evidence: choose the weights, write the bundle, score it, and complete the four
records.

Knows no training and no command line.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from heedful.config import to_tree
from heedful.decoding.shortlist import load_shortlist, save_shortlist
from heedful.errors import HeedfulError
from heedful.evaluation.evaluate import Evaluation, Occasion, result_rows
from heedful.evaluation.score import Score
from heedful.events import Report
from heedful.models.bundle import Bundle, is_bundle, write_bundle
from heedful.models.interface import Model
from heedful.models.weights import FILE, average, count_parameters, load_weights
from heedful.pipeline.card import Provenance, model_card
from heedful.pipeline.evaluate_split import describe_search, dev_search, final_split, read_test_set, score_test_set
from heedful.recipe.recipe import Recipe
from heedful.recipe.splits import load_split
from heedful.records.manifest import ManifestRow, manifest_rows
from heedful.records.results import Result
from heedful.records.run import Run
from heedful.tasks.table import translator_of
from heedful.tasks.task import EncodedCorpus
from heedful.text.tokenizer import Tokenizers
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.progress import read_progress


class FinishedRun(NamedTuple):
    """The scores of the finished model on the final split (test where there is one, else dev)."""

    split: str
    scores: list[Score]


class ChosenWeights(NamedTuple):
    """The weights that became the model."""

    files: list[Path]
    update: int
    name: str  # as results.csv calls it


def finish(
    recipe: Recipe, run: Run, model: Model, prepared: EncodedCorpus, checkpoints: CheckpointFolder, report: Report
) -> FinishedRun:
    """Bundle the chosen weights, evaluate them once on the final split, and write manifest, results, errors and
    outputs. A bundle that is there already is replaced when the new scores are known, not before, and together with
    all that is of it.
    """
    chosen = choose(checkpoints, recipe.training.average_last)
    load_weights(model, average(chosen.files), run.checkpoints)
    logged, tokenizers = run.read_log("prepared"), prepared.tokenizers
    made = Provenance(count_parameters(model), chosen.name, chosen.update, logged[-1] if logged else {})
    if not is_bundle(run.bundle):
        _bundle(recipe, run, model, tokenizers, model_card(recipe, made, ()))
    split = final_split(recipe.data)
    report("evaluating", {"split": split})
    translator = translator_of(model, tokenizers, recipe.search)
    evaluation = score_test_set(translator, read_test_set(recipe.data, split), recipe)
    rows = _final_rows(recipe, run, evaluation, chosen, split)
    with run.together():
        _bundle(recipe, run, model, tokenizers, model_card(recipe, made, rows))
        record(recipe, run, evaluation, rows, split)
        run.write_manifest(_manifest(recipe, prepared, split))
        run.forget_former()
    report("finished", {"split": split, "checkpoint": chosen.name, "scores": [s._asdict() for s in evaluation.scores]})
    return FinishedRun(split, evaluation.scores)


def _bundle(recipe: Recipe, run: Run, model: Model, tokenizers: Tokenizers, card: str) -> None:
    shortlist = load_shortlist(run.bundle, tokenizers)  # of an earlier bundle, made from the same corpus
    with run.new(run.bundle.name) as folder:
        write_bundle(folder, Bundle(model, tokenizers, to_tree(recipe), recipe.model), card)
        if shortlist is not None:
            save_shortlist(folder, shortlist, tokenizers)


def choose(checkpoints: CheckpointFolder, average_last: int) -> ChosenWeights:
    """Choose the best checkpoint, or with `average_last` so many of the last validated ones."""
    if average_last:
        folders = checkpoints.validated()[-average_last:]
        update = read_progress(folders[-1]).update
        return ChosenWeights([folder / FILE for folder in folders], update, f"average-of-{len(folders)}")
    best = checkpoints.best()
    if best is None:
        raise HeedfulError(f"{checkpoints.folder} has no checkpoint that was validated.", hint="Train on first.")
    return ChosenWeights([best / FILE], read_progress(best).update, best.name)


def record(recipe: Recipe, run: Run, evaluation: Evaluation, rows: Sequence[Result], split: str) -> None:
    """Write outputs, errors and results: all validations, then the final scores under their signatures."""
    run.write_outputs(split, evaluation.outputs)
    run.write_errors(mistake.record() for mistake in evaluation.errors)
    run.write_results([*_validations(recipe, run), *rows])


def _final_rows(recipe: Recipe, run: Run, evaluation: Evaluation, chosen: ChosenWeights, split: str) -> list[Result]:
    occasion = Occasion(
        run.name,
        recipe.seed,
        split,
        chosen.name,
        describe_search(recipe.search, recipe.model),
        chosen.update,
        chosen=True,
    )
    return result_rows(evaluation, occasion)


def _validations(recipe: Recipe, run: Run) -> Iterator[Result]:
    decode = describe_search(dev_search(recipe), recipe.model)
    for event in run.read_log("validation"):
        measured = {name: event[name] for name in ("loss", "perplexity", *recipe.evaluation.metrics) if name in event}
        for metric, value in measured.items():
            n = event["tokens"] if metric in ("loss", "perplexity") else event["sentences"]
            yield Result(
                run=run.name,
                seed=recipe.seed,
                split="dev",
                metric=metric,
                value=value,
                ci_low=None,
                ci_high=None,
                n=n,
                signature="",
                checkpoint=f"update-{event['update']:08d}",
                decode="teacher forcing" if metric in ("loss", "perplexity") else decode,
                seconds=event["seconds"],
                update=event["update"],
                chosen=bool(event["best"]),
            )


def _manifest(recipe: Recipe, prepared: EncodedCorpus, final_split: str) -> Iterator[ManifestRow]:
    """Name what the model has learnt from and was chosen by, which was kept, and what it was scored on."""
    yield from manifest_rows("train", prepared.train.numbered_pairs())
    yield from manifest_rows("dev", prepared.dev.numbered_pairs())
    if final_split != "dev":
        yield from manifest_rows(final_split, enumerate(load_split(recipe.data, final_split)))
