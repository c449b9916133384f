"""`heedful shortlist`: which target tokens each source token may need, so that decoding looks at no others."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.streams import print_json


def shortlist(
    run: Annotated[Path, typer.Argument(help="A finished run directory, with its data.")],
    k: Annotated[int, typer.Option(min=1, help="So many most likely target tokens for each source token.")] = 50,
    frequent: Annotated[int, typer.Option(min=0, help="So many most frequent target tokens, for every sentence.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Align the training data (IBM Model 1) and write a lexical shortlist into the run's bundle.

    `heedful translate --shortlist` and `search.shortlist=true` use it; `heedful evaluate` says what it costs.
    """
    from heedful.pipeline.shortlist import make_shortlist

    made = make_shortlist(run, k, frequent)
    if as_json:
        facts = {"candidates": made.mean_candidates, "missing": made.missing}
        print_json(facts)
        return
    of = f"of {made.shortlist.target_size:,} target tokens"
    typer.echo(f"candidates of a dev sentence\t{made.mean_candidates:.0f} {of}")
    typer.echo(f"dev target tokens that are none\t{100 * made.missing:.2f} %")
