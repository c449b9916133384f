"""`heedful config`: what a recipe comes to, the schema, differences, presets, and the paper's Table 3."""

from typing import Annotated, Any

import typer

from heedful.cli.streams import print_json
from heedful.cli.table import align
from heedful.records.files import to_json

app = typer.Typer(help="Show, trace and diff recipes and presets.", no_args_is_help=True, rich_markup_mode="markdown")

Named = Annotated[str, typer.Argument(help="A recipe file, or the name of a preset.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="key=value", help="Set single keys: training.max_updates=100")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def _toml(value: Any) -> str:
    """Format a value as it stands in a recipe (these look the same in TOML and in JSON)."""
    return "-" if value is None else to_json(value)


@app.command()
def show(name: Named, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Print every value of a recipe or preset, and where it comes from."""
    from heedful.recipe.describe import settings

    found = settings(name, overrides or ())
    if as_json:
        print_json({setting.key: {"value": setting.value, "origin": setting.origin} for setting in found})
    else:
        typer.echo(align([(setting.key, _toml(setting.value), setting.origin) for setting in found]))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a recipe, for editors."""
    from heedful.recipe.recipe import Recipe

    print_json(Recipe.model_json_schema(), indent=2)


@app.command()
def diff(left: Named, right: Named, as_json: AsJson = False) -> None:
    """Print the keys in which two recipes or presets differ."""
    from heedful.recipe.describe import compare_named

    found = compare_named(left, right)
    if as_json:
        print_json({key: {"left": a, "right": b} for key, a, b in found})
    elif found:
        typer.echo(align([("key", left, right), *((key, _toml(a), _toml(b)) for key, a, b in found)]))
    else:
        typer.echo(f"{left} and {right} do not differ.", err=True)


@app.command()
def presets(as_json: AsJson = False) -> None:
    """List the presets that a recipe can start from."""
    from heedful.recipe.presets import names

    found = names()
    if as_json:
        print_json(found)
    else:
        typer.echo(align(list(found.items())))


@app.command()
def table3(
    vocab_size: Annotated[int, typer.Option(min=5, help="Entries of the one shared vocabulary.")] = 37_000,
    as_json: AsJson = False,
) -> None:
    """Count the parameters of the paper's Table 3, beside the printed ones.

    In millions, and as differences to the base row.
    """
    from heedful.pipeline.paper_table3 import table3 as count

    counts = count(vocab_size)
    if as_json:
        print_json([row._asdict() for row in counts])
        return
    rows = [["row", "ours", "to base", "paper", "to base"]]
    for row in counts:
        paper = ["", ""] if row.paper_millions is None else [str(row.paper_millions), f"{row.paper_difference:+d}"]
        rows.append([row.row, f"{row.parameters / 1e6:.1f}", f"{row.difference / 1e6:+.1f}", *paper])
    typer.echo(align(rows, right=(1, 2, 3, 4)))
