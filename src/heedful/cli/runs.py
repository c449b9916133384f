"""`heedful runs`: what runs there are, what one holds, and where two differ."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.streams import print_json
from heedful.cli.table import align
from heedful.records.files import to_json

if TYPE_CHECKING:
    from heedful.config import Difference
    from heedful.records.compare import Summary
    from heedful.records.results import Result
    from heedful.records.run import Run

app = typer.Typer(help="List, show and diff run directories.", no_args_is_help=True, rich_markup_mode="markdown")

Named = Annotated[Path, typer.Argument(help="A run directory.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@app.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(help="Where to look, folders in it included.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """List the runs in a folder: how far they are, and their newest scores."""
    from heedful.records.compare import find_runs, summarise

    found = [summarise(run) for run in find_runs(folder)]
    if as_json:
        print_json([_summary_facts(summary) for summary in found])
    elif found:
        rows = [(s.folder, s.state, f"{s.update:,}", f"{s.minutes:,.1f}", _scores(s)) for s in found]
        typer.echo(align([("run", "state", "updates", "minutes", "scores"), *rows], right=(2, 3)))
    else:
        typer.echo(f"There are no runs in {folder}.", err=True)


@app.command()
def show(run: Named, as_json: AsJson = False) -> None:
    """Print what a run holds: state, scores with signatures, errors by reason, machine."""
    from heedful.records.compare import summarise
    from heedful.records.run import Run

    opened = Run.open(run)
    summary, reasons = summarise(opened), _reasons(opened.read_errors())
    evaluations = [row for row in opened.read_results() if row.signature]
    if as_json:
        facts = {
            **_summary_facts(summary),
            "evaluations": [row._asdict() for row in evaluations],
            "errors": reasons,
            "environment": opened.environment(),
        }
        print_json(facts)
        return
    environment = opened.environment()
    machine = f"{environment.get('cpu', '?')}, {environment.get('cores', '?')} cores"
    facts = [
        ("run", summary.folder),
        ("state", summary.state),
        ("training", f"{summary.update:,} updates, {summary.minutes:,.1f} minutes"),
        ("begun", str(environment.get("time", "?"))),
        ("command", " ".join(environment.get("command", []))),
        ("machine", machine),
        ("errors", ", ".join(f"{count:,} {reason}" for reason, count in reasons.items()) or "none recorded"),
    ]
    typer.echo(align(facts))
    if evaluations:
        typer.echo("\n" + _table(evaluations))


@app.command()
def diff(left: Named, right: Named, as_json: AsJson = False) -> None:
    """Print where two runs differ: configuration, machine and versions, scores."""
    from heedful.records.compare import config_differences, environment_differences
    from heedful.records.run import Run

    runs = Run.open(left), Run.open(right)
    parts = {
        "configuration": config_differences(*runs),
        "environment": environment_differences(*runs),
        "scores": _score_differences(*runs),
    }
    if as_json:
        trees = {name: {key: {"left": a, "right": b} for key, a, b in part} for name, part in parts.items()}
        print_json(trees)
        return
    shown = [
        align([(name, str(left), str(right)), *((key, _value(a), _value(b)) for key, a, b in part)])
        for name, part in parts.items()
        if part
    ]
    if shown:
        typer.echo("\n\n".join(shown))
    else:
        typer.echo(f"{left} and {right} do not differ.", err=True)


def _score_differences(left: "Run", right: "Run") -> "list[Difference]":
    """List the newest scores that are not the same to two decimals; `heedful compare` says what a difference means."""
    from heedful.config import Difference
    from heedful.records.compare import newest_scores

    a, b = ({name: round(value, 2) for name, value in newest_scores(run).items()} for run in (left, right))
    return [Difference(key, a.get(key), b.get(key)) for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)]


def _summary_facts(summary: "Summary") -> dict[str, object]:
    return {**summary._asdict(), "results": [row._asdict() for row in summary.results]}


def _scores(summary: "Summary") -> str:
    return "  ".join(f"{row.metric} {row.value:.2f} ({row.split})" for row in summary.results)


def _table(rows: "list[Result]") -> str:
    cells = [
        (
            row.split,
            row.metric,
            f"{row.value:.2f}",
            f"{row.ci_low:.2f} to {row.ci_high:.2f}",
            f"{row.n:,}",
            row.signature,
        )
        for row in rows
    ]
    return align([("split", "metric", "value", "95 % interval", "n", "signature"), *cells], right=(2, 3, 4))


def _reasons(errors: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(row["reason"] for row in errors).most_common())


def _value(value: Any) -> str:
    if value is None:
        return "-"
    return to_json(value)
