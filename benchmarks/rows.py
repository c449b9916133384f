"""One row of the table, and the table as text and as Markdown. Knows nothing of how a figure was taken."""

from collections.abc import Sequence
from typing import NamedTuple

from measure import Spread


class Row(NamedTuple):
    """A figure of one system. `ratio` compares with the group's first named system, more than 1 in Heedful's favour."""

    group: str  # what is measured, with its unit
    system: str
    figure: Spread
    ratio: Spread | None = None
    note: str = ""


def text_table(rows: Sequence[Row]) -> str:
    """For a terminal: one block a group, columns aligned."""
    lines: list[str] = []
    for group in dict.fromkeys(row.group for row in rows):
        lines += ["", group, f"  {'':44}{'min':>10}{'median':>10}{'max':>10}   {'ratio':18} "]
        for row in rows:
            if row.group == group:
                figures = "".join(f"{number(value):>10}" for value in row.figure)
                lines.append(f"  {row.system:44}{figures}   {shown(row.ratio):18} {row.note}".rstrip())
    return "\n".join(lines[1:])


def markdown_table(rows: Sequence[Row]) -> str:
    """One table for docs/benchmarks.md."""
    lines = ["| | min | median | max | ratio: min, median, max | |", "|---|---|---|---|---|---|"]
    for group in dict.fromkeys(row.group for row in rows):
        lines.append(f"| **{group}** | | | | | |")
        for row in rows:
            if row.group == group:
                figures = " | ".join(number(value) for value in row.figure)
                lines.append(f"| {row.system} | {figures} | {shown(row.ratio)} | {row.note} |")
    return "\n".join(lines)


def shown(ratio: Spread | None) -> str:
    """A ratio's spread, in words of two decimals."""
    return "" if ratio is None else " ".join(f"{value:.2f}" for value in ratio)


def number(value: float) -> str:
    """Three or more significant digits, thousands set apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
