"""`heedful exposure`: teacher-forced predictions, as in training, beside free-running ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.streams import print_json
from heedful.cli.table import align

if TYPE_CHECKING:
    from heedful.evaluation.exposure import Exposure

SHOWN = 20  # positions; --json has all


def exposure(
    model: Annotated[Path, typer.Argument(help="A run directory or a model bundle.")],
    split: Annotated[str, typer.Option(help="The split of the recipe's data to measure on: dev, test, ...")] = "dev",
    error_at: Annotated[
        int, typer.Option(min=1, help="The position, counted from 1, where a wrong token is put into each target.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every position.")] = False,
) -> None:
    """Measure exposure bias: token accuracy teacher-forced and free-running, and after an error.

    Teacher forcing gives the model the right tokens before each position; in free running it goes on from its own, by
    greedy search. A token is right if it is the target's at its position; the end is a token.
    """
    from heedful.evaluation.exposure import measure_exposure
    from heedful.pipeline.evaluate_split import read_test_set
    from heedful.pipeline.load import load, recipe_of, remark_on
    from heedful.records.manifest import data_hash

    items = read_test_set(recipe_of(model).data, split)
    first = [targets[0] for targets in items.references]
    if (remark := remark_on(model)) is not None:
        typer.echo(remark, err=True)
    found = measure_exposure(load(model), items.sources, first, error_at)
    if not as_json:
        _print_tables(found)
        return
    rows = {name: [row._asdict() for row in getattr(found, name)] for name in ("by_position", "after_error")}
    data = data_hash(items.sources, [[target] for target in first])
    print_json({"model": str(model), "split": split, "data": data, **found._asdict(), **rows})


def _print_tables(found: "Exposure") -> None:
    whole = [
        ("%", "teacher-forced", "free-running", "n"),
        ("tokens right", *_percent(found.teacher_forced_tokens, found.free_running_tokens), found.tokens),
        ("whole outputs right", *_percent(found.teacher_forced_outputs, found.free_running_outputs), found.outputs),
        ("edits for 100 tokens", "", *_percent(found.free_running_edits), found.tokens - found.outputs),
    ]
    places = [(row.position, *_percent(row.teacher_forced, row.free_running), row.n) for row in found.by_position]
    behind = [(row.distance, *_percent(row.after_gold, row.after_wrong), row.n) for row in found.after_error]
    header = f"positions after {found.error_at}", "after the reference", "after an error", "n"
    typer.echo(_table(whole))
    typer.echo("\n" + _table([("position", "teacher-forced", "free-running", "n"), *places[:SHOWN]]))
    typer.echo("\n" + _table([header, *behind[:SHOWN]]))
    typer.echo(
        "Whole outputs, teacher-forced, are p^T: right, if each of T tokens were right with the chance p of all. "
        f"The last table runs freely after reference tokens, and after a wrong one at position {found.error_at}.",
        err=True,
    )


def _percent(*shares: float) -> list[str]:
    return [f"{100 * share:.2f}" for share in shares]


def _table(rows: Sequence[Sequence[object]]) -> str:
    return align([[str(cell) for cell in row] for row in rows], right=range(1, len(rows[0])))
