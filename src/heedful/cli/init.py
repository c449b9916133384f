"""`heedful init`: write a complete, commented recipe, or copy one that comes with heedful."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from heedful.errors import ConfigError

FILE_OPTIONS = ("--train", "--dev", "--test")
Files = list[str]


class OneOrTwoFiles(TyperCommand):
    """A command whose options of files take a table or two aligned files, `--train a.en a.de`, and nothing else."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `--train A B` as `--train A --train B`."""
        return super().parse_args(ctx, one_file_an_option(args))


COMMAND = OneOrTwoFiles


def one_file_an_option(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with a second file behind an option of files as an option of its own.

    It is one where it is no option and no `key=value`, unless a file of that name is there.
    """
    found: list[str] = []
    option = ""  # that a second file would belong to
    expected = False  # whether the first file comes now
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if expected:
            expected = False
        elif name in FILE_OPTIONS:
            option, expected = name, not equals
        else:
            if option and not argument.startswith("-") and (not equals or os.path.exists(argument)):
                found.append(option)
            option = ""
        found.append(argument)
    return found


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
    train: Annotated[
        Files | None, typer.Option(metavar="FILE [FILE]", help="A table, or two aligned text files, to learn from.")
    ] = None,
    dev: Annotated[Files | None, typer.Option(metavar="FILE [FILE]", help="Pairs that choose the checkpoint.")] = None,
    test: Annotated[Files | None, typer.Option(metavar="FILE [FILE]", help="Pairs that are scored at the end.")] = None,
    output: Annotated[Path, typer.Option(help="The file to write; an existing one is never replaced.")] = Path(
        "recipe.toml"
    ),
) -> None:
    """Write a complete, commented recipe, or copy one that comes with heedful.

    Files are a table each (.tsv, .csv, .jsonl, .parquet), or two aligned text files: `--train a.en a.de --dev b.en
    b.de`.
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
    """Refuse overrides beside a recipe that is copied. Raises ConfigError."""
    if given:
        hint = f"Copy it, then set keys where it is used: heedful train {output} key=value."
        raise ConfigError(f"--recipe copies a whole recipe, so {given[0]} cannot go with it.", hint=hint)
