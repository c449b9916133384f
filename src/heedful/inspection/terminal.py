"""Attention in a terminal: one line a row, one bar or coloured cell a weight, column headings written downwards.

Knows no terminal: the caller says how many cells wide it is and whether it shows colours.
"""

import unicodedata

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

from heedful.inspection.colour_scale import DARK, level
from heedful.inspection.labels import Head, allowed, axes, head_name, map_title, matrix
from heedful.trace import Trace

_BARS = " ▁▂▃▄▅▆▇█"
_FORBIDDEN = "╱╱"
_HEADING_ROWS = 12
_LABEL_CELLS = 32


def blocks(trace: Trace, name: str, head: Head = "mean", width: int = 100, colour: bool = False) -> str:
    """Draw one map as text: a column of two cells a token, then each row's largest weight and where it lies.

    Columns that do not fit stand in further panels below; ╱╱ is masked. `width` is the terminal's,
    in cells; `colour` asks for 24-bit grounds instead of bars. The text ends without a newline.
    """
    shown = trace.map(name)
    weights, mask = matrix(shown, head), allowed(shown, head)
    rows, columns, *_ = axes(trace, shown.kind)
    label_width = min(_LABEL_CELLS, max(cell_len(row) for row in rows))
    summaries = [_summary(weights[t], columns) for t in range(len(rows))]
    room = width - label_width - 3 - max(cell_len(text) for text in summaries)
    per_panel = max(4, room // 2)
    lines = [f"{map_title(name)}, {head_name(head)}", "rows attend to columns"]
    for start in range(0, len(columns), per_panel):
        part = slice(start, start + per_panel)
        last = start + per_panel >= len(columns)
        lines += [" " * (label_width + 1) + line for line in _headings(columns[part])]
        for t, row in enumerate(rows):
            cells = _cells(weights[t, part], mask[t, part], colour)
            tail = f"  {summaries[t]}" if last else ""
            lines.append(f"{_right(row, label_width)} {cells}{tail}".rstrip())
    return "\n".join(lines)


def _summary(weights: NDArray[np.float32], columns: list[str]) -> str:
    """Format the largest weight of a row as `0.93 bank`, or a dash where the row attends to nothing."""
    best = int(weights.argmax())
    return f"{weights[best]:.2f} {_cut(columns[best], 14)}" if weights[best] > 0 else "—"


def _cells(weights: NDArray[np.float32], mask: NDArray[np.bool_], colour: bool) -> str:
    """Draw two cells a weight: a bar of eighths, or a coloured ground."""
    drawn = []
    for weight, may in zip(weights, mask, strict=True):
        if not may:
            drawn.append(_FORBIDDEN)
        elif colour:
            red, green, blue = DARK[level(weight)]
            drawn.append(f"\x1b[48;2;{red};{green};{blue}m  \x1b[0m")
        else:
            drawn.append(_BARS[min(8, max(0, round(float(weight) * 8)))] * 2)
    return "".join(drawn)


def _headings(columns: list[str]) -> list[str]:
    """Write the column labels downwards, aligned at the last line, two cells wide each."""
    towers = [_tower(column) for column in columns]
    height = max(len(tower) for tower in towers)
    towers = [[""] * (height - len(tower)) + tower for tower in towers]
    return ["".join(set_cell_size(tower[line], 2) for tower in towers).rstrip() for line in range(height)]


def _tower(label: str) -> list[str]:
    """Split a label into its characters, each with its combining marks; what is longer than the heading ends in …"""
    characters: list[str] = []
    for character in label:
        if characters and (unicodedata.combining(character) or cell_len(character) == 0):
            characters[-1] += character
        else:
            characters.append(character)
    return characters if len(characters) <= _HEADING_ROWS else [*characters[: _HEADING_ROWS - 1], "…"]


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _right(text: str, width: int) -> str:
    text = _cut(text, width)
    return " " * (width - cell_len(text)) + text
