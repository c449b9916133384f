"""`heedful init`: write a complete, commented recipe."""

from pathlib import Path
from typing import Annotated

import typer

Files = tuple[str, str]


def init(
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="key=value", help="Set single keys: data.catalogue=cmudict")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Start from this preset; left out, your training data decides.")
    ] = None,
    train: Annotated[Files | None, typer.Option(help="Two aligned text files to learn from.")] = None,
    dev: Annotated[Files | None, typer.Option(help="Two more that choose the checkpoint.")] = None,
    test: Annotated[Files | None, typer.Option(help="Two more that are scored at the end.")] = None,
    output: Annotated[Path, typer.Option(help="The file to write; an existing one is never replaced.")] = Path(
        "recipe.toml"
    ),
) -> None:
    """Write a complete, commented recipe.

    Other kinds of files are set as keys: `data.train='["pairs.tsv"]' data.dev='["dev.tsv"]'`.
    """
    from heedful.recipe.first_recipe import first_recipe, refuse_existing, write_new

    refuse_existing(output)
    text, reason = first_recipe(preset, {"train": train or (), "dev": dev or (), "test": test or ()}, overrides or ())
    write_new(output, text)
    typer.echo(str(output))
    typer.echo(f"{reason}\nNext: heedful train {output} --dry-run", err=True)
