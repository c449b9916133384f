"""`heedful score`: what a model thinks of given pairs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.error_locations import named_after
from heedful.cli.lines import read_lines
from heedful.data.corpus import refuse_tables
from heedful.data.lines import refuse_second_use
from heedful.errors import HeedfulError
from heedful.records.files import to_json

if TYPE_CHECKING:
    from heedful.decoding.translation import Scored

CHUNK = 1000


def score(
    model: Annotated[Path, typer.Argument(help="A run directory, a model bundle or an export.")],
    source: Annotated[Path, typer.Argument(help="A text file of sources, one a line.")],
    target: Annotated[Path, typer.Argument(help="The targets to score, line by line.")],
    ensemble: options.Ensemble = None,
    ensemble_mean: options.EnsembleMean = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, with every token.")] = False,
) -> None:
    """Give the natural log-probability of each target line, given its source line: of all pairs, or of none."""
    pairs = _pairs(source, target)
    from heedful.pipeline.engines import EngineChoice, open_engine

    lines = []
    choice = EngineChoice(others=ensemble or (), mean=ensemble_mean)
    with open_engine(model, choice, []) as opened, named_after(source, target):
        for remark in opened.remarks:
            typer.echo(remark, err=True)
        for start in range(0, len(pairs), CHUNK):
            sources, targets = zip(*pairs[start : start + CHUNK], strict=True)
            scored = opened.engine.score(sources, targets, first_pair=start + 1)
            lines += [f"{_rendered(one, as_json)}\n" for one in scored]
    typer.echo("".join(lines), nl=False)


def _rendered(scored: "Scored", as_json: bool) -> str:
    if not as_json:
        return f"{scored.log_p:.6f}"
    tokens = [[token.piece, token.log_p] for token in scored.tokens]
    return to_json({"log_p": scored.log_p, "tokens": tokens})


def _pairs(source: Path, target: Path) -> list[tuple[str, str]]:
    refuse_second_use([source, target])
    refuse_tables([source, target])
    sources, targets = list(read_lines(source)), list(read_lines(target))
    if len(sources) != len(targets):
        raise HeedfulError(
            f"{source} has {len(sources):,} lines, but {target} has {len(targets):,}.",
            hint="Line n of both must be one pair.",
        )
    return list(zip(sources, targets, strict=True))
