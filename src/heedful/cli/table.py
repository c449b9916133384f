"""Aligned columns of plain text, the same on a terminal and in a pipe."""

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Pad the columns to one width each; `right` lists the columns (from 0) that hold numbers and end flush."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
