"""`heedful report`: the report of a run as one offline page."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from heedful.errors import ConfigError


def report(
    run: Annotated[Path, typer.Argument(help="A run directory, finished or not.")],
    output: Annotated[Path | None, typer.Option(help="Write here instead of report.html in the run.")] = None,
    open_it: Annotated[bool, typer.Option("--open/--no-open", help="Show it in the browser of this machine.")] = False,
) -> None:
    """Write one offline page of a run: scores, curves, attention, errors by kind, data, recipe and machine.

    Written again, it shows what the run holds by then.
    """
    if output is not None and not output.absolute().parent.is_dir():
        hint = "Make it, or name another."
        raise ConfigError(f"There is no folder {output.parent} to write {output.name} into.", hint=hint)
    from heedful.pipeline.report import report_run

    page = report_run(run, output)
    typer.echo(f"Wrote {page}: open it in any browser, it needs no network.", err=True)
    if open_it and not webbrowser.open(page.absolute().as_uri()):
        typer.echo("No browser could be opened here.", err=True)
