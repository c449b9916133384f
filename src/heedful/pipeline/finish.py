"""From the last checkpoint to the evidence: choose the weights, write the bundle, score it, and complete the four
records.

Knows no training and no command line.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heedful.config import to_tree
from heedful.decoding.shortlist import load_shortlist, save_shortlist
from heedful.decoding.translator import Translator
from heedful.evaluation.evaluate import Evaluation, Occasion, result_rows
from heedful.evaluation.score import Score
from heedful.models.bundle import Bundle, is_bundle, save_bundle
from heedful.models.interface import Model
from heedful.models.weights import FILE, average, count_parameters, load_weights
from heedful.pipeline.evaluate_split import describe_search, final_split, read_test_set, score_test_set
from heedful.pipeline.prepare import Report
from heedful.recipe.recipe import Recipe
from heedful.recipe.splits import load_split
from heedful.records.manifest import ManifestRow, manifest_rows
from heedful.records.results import Result
from heedful.records.run import Run
from heedful.text.tokenizer import Tokenizers
from heedful.training.checkpoint import CheckpointFolder, read_progress


class Finished(NamedTuple):
    """The scores of the finished model on the final split (test where there is one, else dev)."""

    split: str
    scores: list[Score]


class Chosen(NamedTuple):
    """The weights that became the model."""

    files: list[Path]
    update: int
    name: str  # as results.csv calls it


def finish(
    recipe: Recipe, run: Run, model: Model, tokenizers: Tokenizers, checkpoints: CheckpointFolder, report: Report
) -> Finished:
    """Bundle the chosen weights, evaluate them once on the final split, and write manifest, results, errors and
    outputs. A bundle that is there already is replaced when the new scores are known, not before.
    """
    chosen = choose(checkpoints, recipe.training.average_last)
    load_weights(model, average(chosen.files), run.checkpoints)
    replaces = is_bundle(run.bundle)
    if not replaces:
        _bundle(recipe, run, model, tokenizers, chosen)
    split = final_split(recipe.data)
    report("evaluating", {"split": split})
    evaluation = score_test_set(Translator(model, tokenizers, recipe.search), read_test_set(recipe.data, split), recipe)
    if replaces:
        _bundle(recipe, run, model, tokenizers, chosen)
    record(recipe, run, evaluation, chosen, split)
    run.write_manifest(_manifest(recipe, split))
    report("finished", {"split": split, "checkpoint": chosen.name, "scores": [s._asdict() for s in evaluation.scores]})
    return Finished(split, evaluation.scores)


def _bundle(recipe: Recipe, run: Run, model: Model, tokenizers: Tokenizers, chosen: Chosen) -> None:
    shortlist = load_shortlist(run.bundle, tokenizers)  # of an earlier bundle, made from the same corpus
    save_bundle(run.bundle, Bundle(model, tokenizers, to_tree(recipe), recipe.model), model_card(recipe, model, chosen))
    if shortlist is not None:
        save_shortlist(run.bundle, shortlist, tokenizers)


def choose(checkpoints: CheckpointFolder, average_last: int) -> Chosen:
    """The best checkpoint, or with `average_last` so many of the last validated ones."""
    if average_last:
        folders = checkpoints.validated()[-average_last:]
        update = read_progress(folders[-1]).update
        return Chosen([folder / FILE for folder in folders], update, f"average-of-{len(folders)}")
    best = checkpoints.best()
    assert best is not None, "training ends with a validation, so there is a best checkpoint"
    return Chosen([best / FILE], read_progress(best).update, best.name)


def record(recipe: Recipe, run: Run, evaluation: Evaluation, chosen: Chosen, split: str) -> None:
    """Write outputs, errors and results: all validations, then the final scores under their signatures."""
    occasion = Occasion(
        run.name,
        recipe.seed,
        split,
        chosen.name,
        describe_search(recipe.search, recipe.model),
        chosen.update,
        chosen=True,
    )
    run.write_outputs(split, evaluation.outputs)
    run.write_errors(mistake.record() for mistake in evaluation.errors)
    run.write_results([*_validations(recipe, run), *result_rows(evaluation, occasion)])


def _validations(recipe: Recipe, run: Run) -> Iterator[Result]:
    beams = {"beam": recipe.evaluation.dev_beam, "temperature": None, "mbr_samples": None}
    decode = describe_search(recipe.search.model_copy(update=beams), recipe.model)
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


def _manifest(recipe: Recipe, final_split: str) -> Iterator[ManifestRow]:
    for split in dict.fromkeys(("train", "dev", final_split)):
        yield from manifest_rows(split, load_split(recipe.data, split))


def model_card(recipe: Recipe, model: Model, chosen: Chosen) -> str:
    """README.md of the bundle: what it is, what it was made from, and how to use it."""
    data = recipe.data.catalogue or ", ".join(recipe.data.train)
    facts: Mapping[str, Any] = {
        "Kind": f"{recipe.model.summary}, {count_parameters(model):,} parameters",
        "Data": data,
        "Weights": f"{chosen.name}, after {chosen.update:,} updates",
        "Seed": recipe.seed,
        "Search": describe_search(recipe.search, recipe.model),
    }
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    use = ["", "Use it with:", "", "    import heedful", '    heedful.load("model").translate(["..."])', ""]
    return "\n".join(["# A Heedful model", "", *lines, *use])
