"""`heedful attention`: the members of the attention family, a look-up by each, and what layers cost."""

from typing import Annotated

import typer

from heedful.cli.streams import print_json
from heedful.cli.table import align

app = typer.Typer(help="The attention family.", no_args_is_help=True, rich_markup_mode="markdown")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@app.command("list")
def list_members(as_json: AsJson = False) -> None:
    """List the members and what each puts into the four slots."""
    from heedful.gallery.family import FAMILY

    if as_json:
        print_json([member._asdict() for member in FAMILY])
        return
    rows = [(m.name, m.score, m.mask, m.normalise, m.aggregate) for m in FAMILY]
    typer.echo(align([("name", "score", "mask", "normalise", "aggregate"), *rows]))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A name of `heedful attention list`.")],
    as_json: AsJson = False,
) -> None:
    """Show one member: its slots, equation, source and code, what it is not good for, and what it came to."""
    from heedful.gallery.aliases import ALIASES
    from heedful.gallery.family import find_member
    from heedful.gallery.measured import results

    member = find_member(name)
    if (alias := ALIASES.get(name)) is not None:
        typer.echo(f"{name} is {alias.member}: {alias.meaning}.", err=True)
    measured = results(member.page)
    if as_json:
        found = [{**result._asdict(), "arms": [arm._asdict() for arm in result.arms]} for result in measured]
        print_json({**member._asdict(), "results": found})
        return
    facts = member._asdict()
    shown = {slot: facts[slot] for slot in ("name", "score", "mask", "normalise", "aggregate", "equation", "source")}
    shown["in the code"] = ", ".join(f"heedful.{symbol}" for symbol in member.symbols)
    shown["not good for"] = member.weak
    typer.echo(align(list(shown.items())))
    for result in measured:
        typer.echo(f"\n{result.name}: {result.task}")
        rows = [(arm.name, arm.score, arm.without, f"{arm.parameters:,}", f"{arm.minutes:.1f}") for arm in result.arms]
        titles = ("", f"{result.metric} on {result.split}", "without those in train", "parameters", "minutes")
        typer.echo(align([titles, *rows], right=(3, 4)))
        typer.echo("\n".join([*result.verdicts, result.overlap]))
        typer.echo(f"Recipe: heedful init --recipe {result.recipe}")


@app.command()
def lookup(as_json: AsJson = False) -> None:
    """Ask a database of four people for an age: hard, soft, scaled, sharpened, sparse, and by angle."""
    from heedful.inspection.lookup import AGES, KEYS, PEOPLE, QUESTIONS, look_up

    answers = look_up()
    if as_json:
        print_json([answer._asdict() for answer in answers])
        return
    people = [(name, _vector(key), f"{age:g}") for name, key, age in zip(PEOPLE, KEYS, AGES, strict=True)]
    typer.echo(align([("value of", "key", "age"), *people], right=(2,)))
    for question, query in QUESTIONS.items():
        rows = [
            (answer.way, *(f"{weight:.6f}" for weight in answer.weights), f"{answer.age:.6f}")
            for answer in answers
            if answer.question == question
        ]
        typer.echo(f"\nHow old are {question}? Query {_vector(query)}")
        typer.echo(align([("", *PEOPLE, "age"), *rows], right=(1, 2, 3, 4, 5)))


@app.command()
def complexity(
    length: Annotated[int, typer.Option(help="The number of positions, n.")] = 100,
    width: Annotated[int, typer.Option(help="Their width, d.")] = 512,
    kernel: Annotated[int, typer.Option(help="The positions that a convolution sees.")] = 3,
    radius: Annotated[int, typer.Option(help="The positions that restricted attention sees on each side.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Count what layers cost and how far apart they leave two positions: Table 1 of the paper."""
    from heedful.inspection.complexity import complexity as count

    rows = count(length, width, kernel, radius)
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    header = ("layer", "order", "by the order", "counted", "sequential", "longest path")
    cells = [
        (row.layer, row.order, f"{row.formula:,}", f"{row.counted:,}", f"{row.sequential:,}", f"{row.longest_path:,}")
        for row in rows
    ]
    typer.echo(align([header, *cells], right=(2, 3, 4, 5)))
    typer.echo("Multiply-adds of one layer. A short path does not mean that the relation is learned.", err=True)


def _vector(numbers: tuple[float, ...]) -> str:
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"
