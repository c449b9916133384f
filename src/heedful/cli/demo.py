"""`heedful demo`: the whole road on an embedded dictionary, in minutes."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.streams import print_json

if TYPE_CHECKING:
    from heedful.pipeline.demo import Demo


def demo(
    folder: Annotated[Path, typer.Option("--run", help="The run directory.")] = Path("runs/demo"),
    max_minutes: Annotated[float, typer.Option(min=0.05, help="Train for at most so many minutes.")] = 5.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print metrics, seconds and paths as one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Train spelling to sound on the CMU dictionary, score held-out words, show what the model reads, write a report.

    Everything it needs is installed with `pip install 'heedful[demo]'`; no network is used. A second call shows the
    same run again.
    """
    from heedful.cli.progress import TrainingDisplay
    from heedful.pipeline.demo import demo as run_demo
    from heedful.pipeline.train import silent

    display = nullcontext(silent) if as_json else TrainingDisplay(sys.maxsize, max_minutes)
    with display as report:
        found = run_demo(folder, max_minutes, sys.argv, report)
    if as_json:
        print_json(_facts(found))
    else:
        _print(found)


def _facts(found: "Demo") -> dict[str, object]:
    scores = {
        row.metric: {
            "value": row.value,
            "ci_low": row.ci_low,
            "ci_high": row.ci_high,
            "n": row.n,
            "signature": row.signature,
        }
        for row in found.results
    }
    paths = {"run": str(found.folder), "model": str(found.folder / "model"), "report": str(found.report)}
    return {"metrics": scores, "training_seconds": found.training_seconds, "trained_now": found.trained_now, **paths}


def _print(found: "Demo") -> None:
    if not found.trained_now:
        typer.echo(f"{found.folder} holds a finished run; it is shown again. --run NAME trains another.", err=True)
    for word in found.words:
        right = word.found.text in word.references
        typer.echo(f"\n{word.word}  {'right' if right else 'wrong: ' + ' or '.join(word.references)}")
        for candidate in word.found.n_best:
            typer.echo(f"  {candidate.score:8.3f}  {candidate.text}")
        typer.echo(word.picture)
    typer.echo("")
    for row in found.results:
        typer.echo(
            f"{row.metric.upper()} {row.value:.2f} %  [{row.ci_low:.2f}, {row.ci_high:.2f}]  "
            f"n={row.n:,} held-out words, no stress"
        )
    typer.echo(f"trained {found.training_seconds:.0f} s; report: {found.report}\n\nNext:")
    for step in found.next_commands:
        typer.echo(f"  {step.command}\n      {step.purpose}")
