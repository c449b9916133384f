"""`heedful doctor`: look at the machine and run a short self-test."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.streams import print_json


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Look at the machine and run a five-second self-test.

    Exits with 3 where something found will keep a training from working.
    """
    from heedful.cli.table import align
    from heedful.errors import CheckFailed
    from heedful.pipeline.doctor import examine

    typer.echo("Looking at the machine; the self-test takes five seconds ...", err=True)
    findings = examine(Path.cwd())
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        typer.echo(align([(finding.state, finding.name, finding.value) for finding in findings]))
        for finding in findings:
            if finding.hint is not None:
                typer.echo(f"{finding.name}: {finding.hint}")
    errors = [finding.name for finding in findings if finding.state == "error"]
    if errors:
        raise CheckFailed(f"This machine cannot train yet: {', '.join(errors)}.")
