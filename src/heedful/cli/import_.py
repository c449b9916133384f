"""`heedful import`: a checkpoint from elsewhere becomes a bundle, and is compared with what it was."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.lines import read_lines
from heedful.cli.parity import facts_of, sentence_of
from heedful.cli.streams import print_json


def import_(
    folder: Annotated[Path, typer.Argument(help="A Marian checkpoint in the format of Hugging Face.")],
    out: Annotated[Path, typer.Argument(help="The bundle to make.")],
    dev: Annotated[
        Path | None, typer.Option(help="Sentences to compare on, one a line; left out: random pieces of its own.")
    ] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Compare on the first so many of them.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
) -> None:
    """Make a bundle of a Marian or OPUS-MT checkpoint, then translate with both and compare.

    A bundle that says something else is kept as OUT.failed, and the exit code is 3.
    """
    from heedful.export.marian_import import import_checkpoint
    from heedful.export.output_folder import refuse_existing

    refuse_existing(out)
    lines = list(islice(read_lines(dev), sentences)) if dev is not None else []
    typer.echo(f"Reading {folder}, then translating with both ...", err=True)
    parity = import_checkpoint(folder, out, lines)
    if as_json:
        print_json({"folder": str(out), **facts_of(parity)})
    else:
        typer.echo(f"{out}: {sentence_of(parity)}")
