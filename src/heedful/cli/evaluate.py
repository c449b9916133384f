"""`heedful evaluate`: a model's scores on a split of its data, or on files of your own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import options
from heedful.cli.lines import read_lines
from heedful.cli.streams import print_json
from heedful.cli.table import align
from heedful.data.corpus import refuse_tables
from heedful.data.lines import refuse_second_use
from heedful.errors import ConfigError, HeedfulError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.pipeline.evaluate import EvaluatedModel
    from heedful.pipeline.evaluate_split import TestSet


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
    from heedful.pipeline.engines import EngineChoice
    from heedful.pipeline.evaluate import evaluate_model

    items = _own_files(source, references or []) or split
    choice = EngineChoice(engine, precision, ensemble or (), ensemble_mean)
    found = evaluate_model(model, items, overrides or [], choice, _tell)
    if as_json:
        _print_json(found)
    else:
        _print_table(found)
    if found.times_scored is not None and found.times_scored > 1:
        times = f"{found.split} has been scored {found.times_scored} times with this run"
        advice = " Choose by dev, and score test once." if found.split == "test" else ""
        typer.echo(f"{times}, the end of its training included.{advice}", err=True)


def _tell(event: str, facts: "Mapping[str, Any]") -> None:
    """Print what an evaluation reports, on standard error."""
    typer.echo(facts["text"] if event == "remark" else f"Translating {facts['lines']:,} lines ...", err=True)


def _own_files(source: Path | None, references: list[Path]) -> "TestSet | None":
    """Read the lines of files named on the command line; None where none are."""
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


def _print_json(found: "EvaluatedModel") -> None:
    evaluation = found.evaluation
    facts = {
        "split": found.split,
        "n": len(evaluation.outputs),
        "data": evaluation.data_hash,
        "decode": found.decode,
        "seconds": round(evaluation.seconds, 3),
        "run": None if found.run is None else str(found.run.folder),
        "times_scored": found.times_scored,
        "scores": [score._asdict() for score in evaluation.scores],
    }
    print_json(facts)


def _print_table(found: "EvaluatedModel") -> None:
    evaluation = found.evaluation
    rows = [
        (score.metric, f"{score.value:.2f}", f"{score.low:.2f} to {score.high:.2f}", f"{score.n:,}", score.signature)
        for score in evaluation.scores
    ]
    typer.echo(align([("metric", "value", "95 % interval", "n", "signature"), *rows], right=(1, 2, 3)))
    wrong = f"{len(evaluation.errors):,} of {len(evaluation.outputs):,} lines are not exactly right"
    where = f"; they stand in {found.run.folder / 'errors.jsonl'}" if found.run is not None else ""
    typer.echo(f"{wrong}{where}. Translating took {evaluation.seconds:.1f} s.", err=True)
