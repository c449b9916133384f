"""`heedful evaluate`: a model's scores on a split of its data, or on files of your own."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.lines import read_lines
from heedful.cli.streams import print_json
from heedful.cli.table import align
from heedful.data.corpus import refuse_tables
from heedful.data.lines import refuse_second_use
from heedful.errors import ConfigError, HeedfulError

if TYPE_CHECKING:
    from heedful.evaluation.evaluate import Evaluation
    from heedful.pipeline.evaluate_split import TestSet
    from heedful.recipe.recipe import Recipe
    from heedful.records.run import Run

MAY_CHANGE = ("data", "evaluation", "search")  # tables of the recipe that the weights do not depend on


def evaluate(
    model: Annotated[Path, typer.Argument(help="A run directory, a model bundle or an export.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="key=value", help="Other settings: search.beam=1")
    ] = None,
    split: Annotated[str, typer.Option(help="The split of the recipe's data to score: dev, test, ...")] = "test",
    source: Annotated[Path | None, typer.Option(help="Score this text file instead, one source a line.")] = None,
    references: Annotated[
        list[Path] | None,
        typer.Option("--reference", help="Its right targets, line by line; once for each set of references."),
    ] = None,
    ensemble: options.Ensemble = None,
    ensemble_mean: options.EnsembleMean = None,
    engine: options.Engine = None,
    precision: options.PrecisionOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score a model, each number with its 95 % interval, its count and its signature.

    The evaluation of a split is stored with its run: outputs, results and errors, so that `heedful compare` can use it.
    That of an ensemble or of another engine belongs to no run, and is printed only.
    """
    from heedful.models.bundle import is_bundle
    from heedful.pipeline.engines import EngineChoice, is_native, open_engine
    from heedful.pipeline.evaluate_split import read_test_set, score_test_set
    from heedful.pipeline.load import run_around

    recipe = _recipe(model, overrides or [])
    own = _own_files(source, references or [])
    items = own or read_test_set(recipe.data, split)
    choice = EngineChoice(engine, precision, ensemble or (), ensemble_mean)
    run = None if own or ensemble or not is_native(model, choice) else run_around(model)
    kept = run if run is not None and is_bundle(run.bundle) else None  # what is of no finished model is not
    with kept or nullcontext(), open_engine(model, choice, items.sources, tokens=False) as opened:
        for remark in opened.remarks:
            typer.echo(remark, err=True)
        if precision is not None or not is_native(model, choice):  # an engine keeps its own
            recipe = _in_precision(recipe, opened.engine.search.precision)
        typer.echo(f"Translating {len(items.sources):,} lines ...", err=True)
        found = score_test_set(opened.engine.with_search(recipe.search), items, recipe)
        if kept is not None:
            _keep(kept, found, recipe, items.split)
        times = None if run is None else _count(run, items.split)
    if as_json:
        _print_json(found, items.split, kept, recipe, times)
    else:
        _print_table(found, kept)
    if times is not None and times > 1:
        text = f"{items.split} has been scored {times} times with this run, the end of its training included."
        typer.echo(f"{text} Choose by dev, and score test once." if items.split == "test" else text, err=True)


def _recipe(model: Path, overrides: list[str]) -> "Recipe":
    """The recipe that made the model, with other settings of what may change after training."""
    from heedful.config import parse_overrides
    from heedful.pipeline.load import recipe_file, run_around
    from heedful.recipe.recipe import load_stored, of_run

    fixed = [table for table in parse_overrides(overrides).values if table not in MAY_CHANGE]
    if fixed:
        raise ConfigError(
            f"`{fixed[0]}` cannot be changed after training.", hint=f"Here one can set {', '.join(MAY_CHANGE)}."
        )
    recipe = load_stored(recipe_file(model), overrides).config
    run = run_around(model)
    return recipe if run is None else of_run(recipe, run)


def _in_precision(recipe: "Recipe", precision: str) -> "Recipe":
    return recipe.model_copy(update={"search": recipe.search.model_copy(update={"precision": precision})})


def _own_files(source: Path | None, references: list[Path]) -> "TestSet | None":
    """The lines of files named on the command line; None where none are."""
    from heedful.pipeline.evaluate_split import TestSet

    if source is None and not references:
        return None
    if source is None or not references:
        raise ConfigError("--source and --reference belong together.", hint="Give both, or neither and a --split.")
    refuse_second_use([source, *references])
    refuse_tables([source, *references])
    sources = list(read_lines(source))
    columns = [list(read_lines(path)) for path in references]
    for path, column in zip(references, columns, strict=True):
        if len(column) != len(sources):
            raise HeedfulError(
                f"{source} has {len(sources):,} lines, but {path} has {len(column):,}.",
                hint="Line n of a reference file must be a right target of line n of the source file.",
            )
    if not sources:
        raise HeedfulError(f"{source} is empty.", hint="There is nothing to score.")
    return TestSet(source.name, sources, [list(targets) for targets in zip(*columns, strict=True)], None)


def _keep(run: "Run", found: "Evaluation", recipe: "Recipe", split: str) -> None:
    from heedful.evaluation.evaluate import Occasion, keep
    from heedful.pipeline.evaluate_split import describe_search

    earlier = [row for row in run.read_results() if row.signature]
    checkpoint, update = (earlier[-1].checkpoint, earlier[-1].update) if earlier else ("model", 0)
    decode = describe_search(recipe.search, recipe.model)
    keep(run, found, Occasion(run.name, recipe.seed, split, checkpoint, decode, update, chosen=True))


def _count(run: "Run", split: str) -> int:
    """Note this evaluation in the run's log, and say how many there were with it."""
    from heedful.records.scored import times_scored

    run.log("evaluated", {"split": split})
    return times_scored(run.read_log(), split)


def _print_json(found: "Evaluation", split: str, run: "Run | None", recipe: "Recipe", times: int | None) -> None:
    from heedful.pipeline.evaluate_split import describe_search

    facts = {
        "split": split,
        "n": len(found.outputs),
        "data": found.data_hash,
        "decode": describe_search(recipe.search, recipe.model),
        "seconds": round(found.seconds, 3),
        "run": None if run is None else str(run.folder),
        "times_scored": times,
        "scores": [score._asdict() for score in found.scores],
    }
    print_json(facts)


def _print_table(found: "Evaluation", run: "Run | None") -> None:
    rows = [
        (score.metric, f"{score.value:.2f}", f"{score.low:.2f} to {score.high:.2f}", f"{score.n:,}", score.signature)
        for score in found.scores
    ]
    typer.echo(align([("metric", "value", "95 % interval", "n", "signature"), *rows], right=(1, 2, 3)))
    wrong = f"{len(found.errors):,} of {len(found.outputs):,} lines are not exactly right"
    where = f"; they stand in {run.folder / 'errors.jsonl'}" if run is not None else ""
    typer.echo(f"{wrong}{where}. Translating took {found.seconds:.1f} s.", err=True)
