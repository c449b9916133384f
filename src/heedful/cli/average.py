"""`heedful average`: the mean of a run's last checkpoints becomes its model."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.streams import print_json


def average(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    last: Annotated[
        int, typer.Option(min=0, help="Average so many of the last validated checkpoints; 0 takes the best one.")
    ] = 5,
    force: Annotated[bool, typer.Option("--force", help="Replace the model even by one that is worse on dev.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the new scores as one JSON object.")] = False,
) -> None:
    """Average the last checkpoints of a run into its bundle, and score the new model.

    The former bundle is replaced if the new one is no worse on dev, by what training.select names; else the exit code
    is 3. The checkpoints stay, so `--last 0` brings the best one back.
    """
    from heedful.pipeline.average import average_run

    finished = average_run(run, last, force=force)
    if as_json:
        print_json({"split": finished.split, "scores": [score._asdict() for score in finished.scores]})
        return
    for score in finished.scores:
        typer.echo(
            f"{finished.split}\t{score.metric}\t{score.value:.2f}\t[{score.low:.2f}, {score.high:.2f}]\tn={score.n}"
        )
