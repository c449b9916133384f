"""`heedful export`: a model written for other programs, and compared with itself there."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from heedful.cli.lines import read_lines
from heedful.cli.parity import facts_of, sentence_of
from heedful.cli.streams import print_json


def export(
    model: Annotated[Path, typer.Argument(help="A run directory or a model bundle.")],
    out: Annotated[Path, typer.Argument(help="The folder to make.")],
    to: Annotated[str, typer.Option(help="The target: ctranslate2, onnx or huggingface.")],
    precision: Annotated[
        str, typer.Option("--type", help="Of the weights: float32, int8, bfloat16; auto: the quickest, measured.")
    ] = "float32",
    dev: Annotated[
        Path | None, typer.Option(help="Sentences to compare on, one a line; left out: the run's own dev split.")
    ] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Compare on the first so many of them.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
) -> None:
    """Write a model for another program, then translate with both and compare texts and log-probabilities.

    An export that differs by more than the tolerance of its precision is kept as OUT.failed, and the exit code is 3.
    """
    from heedful.export.output_folder import refuse_existing
    from heedful.pipeline.export import export_model

    refuse_existing(out)  # before the sentences are read
    lines = list(islice(read_lines(dev), sentences)) if dev is not None else None
    found = export_model(model, out, to, precision, lines=lines, sentences=sentences, report=_tell)
    if as_json:
        print_json({"folder": str(out), "target": to, "type": found.precision, **facts_of(found.parity)})
    else:
        typer.echo(f"{out}: {sentence_of(found.parity)}")


def _tell(event: str, facts: Mapping[str, Any]) -> None:
    """Print what an export reports, on standard error."""
    writing = f"Writing {facts.get('folder')} and translating {facts.get('lines', 0):,} lines twice ..."
    typer.echo(facts["text"] if event == "remark" else writing, err=True)
