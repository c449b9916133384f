"""`heedful export`: a model written for other programs, and compared with itself there."""

from itertools import islice
from pathlib import Path
from typing import Annotated

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
    from heedful.decoding.shortlist import load_shortlist
    from heedful.export.place import refuse_existing
    from heedful.export.targets import export_bundle
    from heedful.models.bundle import load_bundle
    from heedful.pipeline.engines import check_choice, choose_precision
    from heedful.pipeline.evaluate_split import dev_sources
    from heedful.pipeline.load import bundle_folder
    from heedful.recipe.tables import KINDS

    refuse_existing(out)
    bundle = load_bundle(bundle_folder(model), KINDS)
    check_choice(bundle, to, precision)
    lines = list(islice(read_lines(dev), sentences)) if dev is not None else dev_sources(model, sentences)
    shortlist = load_shortlist(bundle_folder(model), bundle.tokenizers)
    chosen = choose_precision(bundle, to, precision, lines, shortlist)
    for remark in chosen.remarks:
        typer.echo(remark, err=True)
    typer.echo(f"Writing {out} and translating {len(lines):,} lines twice ...", err=True)
    parity = export_bundle(bundle, out, to, chosen.precision, lines, shortlist)
    if as_json:
        facts = {"folder": str(out), "target": to, "type": chosen.precision, **facts_of(parity)}
        print_json(facts)
    else:
        typer.echo(f"{out}: {sentence_of(parity)}")
