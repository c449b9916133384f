"""`heedful compare`: paired tests between runs, from the outputs that they stored."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.streams import print_json
from heedful.cli.table import align
from heedful.errors import ConfigError

if TYPE_CHECKING:
    from heedful.evaluation.pairing import Paired


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run directories; the first is the baseline.")],
    split: Annotated[str, typer.Option(help="The split whose stored outputs are compared.")] = "test",
    samples: Annotated[int, typer.Option(min=1, help="Random resamples of each test.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the tests.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare runs with the first one by paired bootstrap (interval) and approximate randomisation (p).

    Exit code 3 where runs differ in data, split or counting, and so must not be compared.
    """
    if len(runs) < 2:
        raise ConfigError("There is only one run to compare.", hint="Name two or more: heedful compare RUN RUN")
    from heedful.evaluation import pairing

    found = pairing.compare(runs, split, samples, seed)
    if as_json:
        print_json({"split": split, "comparisons": [_facts(row) for row in found]})
    else:
        _print_table(found, str(runs[0]))


def _facts(row: "Paired") -> dict[str, object]:
    return {
        "metric": row.metric,
        "higher_is_better": row.higher_is_better,
        "baseline": row.baseline.run,
        "run": row.run.run,
        "baseline_value": row.baseline.value,
        "value": row.run.value,
        "delta": row.comparison.delta,
        "low": row.comparison.low,
        "high": row.comparison.high,
        "p_bootstrap": row.comparison.p,
        "p": row.p_randomisation,
        "wins": row.wins,
        "losses": row.losses,
        "ties": row.ties,
        "n": row.run.n,
        "signature": row.run.signature,
    }


def _print_table(found: "list[Paired]", baseline: str) -> None:
    rows = [("metric", "run", "baseline", "value", "difference", "95 % interval", "p", "better on", "worse on")]
    for row in found:
        interval = f"{row.comparison.low:+.2f} to {row.comparison.high:+.2f}"
        values = (f"{row.baseline.value:.2f}", f"{row.run.value:.2f}", f"{row.comparison.delta:+.2f}", interval)
        counts = (f"{row.wins:,}", f"{row.losses:,}")
        rows.append((row.metric, row.run.run, *values, f"{row.p_randomisation:.3f}", *counts))
    typer.echo(align(rows, right=(2, 3, 4, 5, 6, 7, 8)))
    first = found[0]
    about = f"{first.run.n:,} items of {first.run.split}; the baseline is {baseline}."
    many = f" For {len(found)} tests at once, ask for p below {0.05 / len(found):.3f}, not 0.05."
    typer.echo(f"{about} p: approximate randomisation, two-sided.{many if len(found) > 1 else ''}", err=True)
