"""How time and memory grow with length, batch, vocabulary, model and corpus, with fitted exponents and a picture.

Each point is a process of its own. An exponent is the slope on two logarithmic axes: 1 is proportional, 2 quadratic;
the spread is over repetitions. Small sizes pay for what is constant, so the slope of the last three points is shown.

    python benchmarks/growth.py [--repeats 3] [--picture growth.svg]
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fits import fit_exponent
from measure import SYSTEMS, child, pin, spread
from rows import Row, text_table

SMALL = {"d_model": 256, "d_ff": 1024, "n_heads": 4, "n_layers": 3, "vocabulary": 8000, "precision": "float32"}
GROUP = "Growth of cost (exponent of time)"


class Series(NamedTuple):
    """What is done, and which of its sizes varies."""

    name: str
    work: str
    base: Mapping[str, Any]
    varied: str
    values: Sequence[int]


LENGTHS = (16, 64, 256, 512, 1024, 2048)
SERIES = (
    Series("attention, explicit: length", "explicit", {**SMALL, "rows": 2}, "length", LENGTHS),
    Series("attention, fused: length", "fused", {**SMALL, "rows": 2}, "length", LENGTHS),
    Series("whole step: length, 4 sentences", "step", {**SMALL, "rows": 4}, "length", LENGTHS),
    Series("whole step: sentences of 25", "step", {**SMALL, "length": 25}, "rows", (8, 32, 128, 256)),
    Series("whole step: vocabulary", "step", {**SMALL, "rows": 64, "length": 16}, "vocabulary", (2000, 8000, 32000)),
    Series(
        "whole step: d_model (d_ff = 4 d_model)",
        "step",
        {**SMALL, "rows": 32, "length": 16},
        "d_model",
        (128, 256, 512, 1024),
    ),
    Series("preparing a corpus: pairs", "prepare", {}, "pairs", (2000, 8000, 32000)),
    Series("reading an epoch: pairs", "read", {}, "pairs", (4000, 16000, 64000)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--picture", type=Path, help="draw the curves here (.svg or .png)")
    arguments = parser.parse_args()
    pin(arguments.threads)
    part = run(SERIES, arguments.repeats, arguments.threads)
    print(text_table(part["rows"]))
    if arguments.picture:
        from picture import draw_growth

        draw_growth(part["details"], arguments.picture)


def run(series: Sequence[Series], repeats: int, threads: int) -> dict[str, Any]:
    """Rows and details, ready for JSON."""
    rows, details = [], {}
    for one in series:
        points = [measure(one, value, repeats, threads) for value in one.values]
        rows.append(row_of(one, points))
        details[one.name] = {"varied": one.varied, "values": list(one.values), "points": points}
    return {"rows": rows, "details": details}


def measure(series: Series, value: int, repeats: int, threads: int) -> dict[str, Any]:
    """Seconds and memory at one size."""
    asked = {**series.base, series.varied: value, "work": series.work, "repeats": repeats, "threads": threads}
    if series.varied == "d_model":
        asked["d_ff"] = 4 * value
    return child([sys.executable, str(SYSTEMS / "growth_point.py"), json.dumps(asked)], threads)


def row_of(series: Series, points: Sequence[Mapping[str, Any]]) -> Row:
    """The exponents of time, one a repetition; of memory and of the tail in the note."""
    repetitions = list(zip(*(point["seconds"] for point in points), strict=True))
    middle = [spread(point["seconds"]).median for point in points]
    whole = fit_exponent(series.values, middle)
    tail = fit_exponent(series.values[-3:], middle[-3:])
    memory = fit_exponent(series.values[-3:], [point["memory_mb"] for point in points][-3:])
    note = (
        f"r² {whole.r2:.3f}; last three: {tail.exponent:.2f}, memory {memory.exponent:.2f}; "
        f"{series.values[0]:,} to {series.values[-1]:,}: {seconds(middle[0])} to {seconds(middle[-1])}, "
        f"at most {max(point['memory_mb'] for point in points):,.0f} MB"
    )
    exponents = [fit_exponent(series.values, times).exponent for times in repetitions]
    return Row(GROUP, series.name, spread(exponents), None, note)


def seconds(value: float) -> str:
    """A time that people read."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def quick() -> dict[str, Any]:
    """Tiny sizes, for a smoke test."""
    tiny = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 1, "vocabulary": 50, "precision": "float32"}
    series = (
        Series("attention, explicit: length", "explicit", {**tiny, "rows": 1}, "length", (8, 32)),
        Series("whole step: length", "step", {**tiny, "rows": 2}, "length", (4, 16)),
    )
    return run(series, repeats=1, threads=1)


if __name__ == "__main__":
    main()
