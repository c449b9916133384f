"""`heedful score`: what a model thinks of given pairs."""

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.lines import read_lines
from heedful.errors import ConfigError, HeedfulError

CHUNK = 1000


def score(
    model: Annotated[Path, typer.Argument(help="A run directory or a model bundle.")],
    source: Annotated[Path, typer.Argument(help="A text file of sources, one a line.")],
    target: Annotated[Path, typer.Argument(help="The targets to score, line by line.")],
    ensemble: options.Ensemble = None,
    ensemble_mean: options.EnsembleMean = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, with every token.")] = False,
) -> None:
    """Give the natural log-probability of each target line, given its source line."""
    pairs = _pairs(source, target)
    from heedful.recipe.load import load_ensemble

    translator = load_ensemble(model, ensemble or [], ensemble_mean)
    rest = iter(pairs)
    while chunk := list(islice(rest, CHUNK)):
        for scored in translator.score([one for one, _ in chunk], [other for _, other in chunk]):
            if as_json:
                tokens = [[token.piece, token.log_p] for token in scored.tokens]
                typer.echo(json.dumps({"log_p": scored.log_p, "tokens": tokens}, ensure_ascii=False))
            else:
                typer.echo(f"{scored.log_p:.6f}")


def _pairs(source: Path, target: Path) -> list[tuple[str, str]]:
    if str(source) == str(target) == "-":
        raise ConfigError("Source and target cannot both be standard input.", hint="Name a file for one of them.")
    sources, targets = list(read_lines(source)), list(read_lines(target))
    if len(sources) != len(targets):
        raise HeedfulError(
            f"{source} has {len(sources):,} lines, but {target} has {len(targets):,}.",
            hint="Line n of both must be one pair.",
        )
    return list(zip(sources, targets, strict=True))
