"""`heedful init`: write a complete, commented recipe, or copy one that comes with heedful."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from heedful.errors import ConfigError

Files = tuple[str, str]


def init(
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="key=value", help="Set single keys: data.catalogue=cmudict")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Start from this preset; left out, your training data decides.")
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(help="Copy this recipe that comes with heedful, comments included; an unknown name lists all."),
    ] = None,
    train: Annotated[Files | None, typer.Option(help="Two aligned text files to learn from.")] = None,
    dev: Annotated[Files | None, typer.Option(help="Two more that choose the checkpoint.")] = None,
    test: Annotated[Files | None, typer.Option(help="Two more that are scored at the end.")] = None,
    output: Annotated[Path, typer.Option(help="The file to write; an existing one is never replaced.")] = Path(
        "recipe.toml"
    ),
) -> None:
    """Write a complete, commented recipe, or copy one that comes with heedful.

    Other kinds of files are set as keys: `data.train='["pairs.tsv"]' data.dev='["dev.tsv"]'`.
    """
    from heedful.recipe.first_recipe import first_recipe, refuse_existing, write_new
    from heedful.recipe.shipped import recipe_text

    refuse_existing(output)
    splits: dict[str, Sequence[str]] = {"train": train or (), "dev": dev or (), "test": test or ()}
    if recipe is not None:
        options = {"--preset": preset, **{f"--{split}": paths for split, paths in splits.items()}}
        _refuse_changes([*(option for option, value in options.items() if value), *(overrides or ())], output)
        text, reason = recipe_text(recipe, output), f"Recipe {recipe}, as it comes with heedful."
    else:
        text, reason = first_recipe(preset, splits, overrides or ())
    write_new(output, text)
    typer.echo(str(output))
    typer.echo(f"{reason}\nNext: heedful train {output} --dry-run", err=True)


def _refuse_changes(given: list[str], output: Path) -> None:
    """Raises ConfigError where anything else than a copy was asked for."""
    if given:
        hint = f"Copy it, then set keys where it is used: heedful train {output} key=value."
        raise ConfigError(f"--recipe copies a whole recipe, so {given[0]} cannot go with it.", hint=hint)
