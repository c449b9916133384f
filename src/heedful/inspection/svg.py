"""One attention map as a small self-contained SVG, the same bytes for the same trace: for reports, with no script.

Knows no file and no page around it: colours follow `prefers-color-scheme`, or `data-theme` on the root element.
"""

import math
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from heedful.inspection.colour_scale import DARK, LIGHT, STEPS, Colour, css, level
from heedful.inspection.labels import Axes, Head, allowed, axes, head_name, map_title, matrix
from heedful.trace import Trace

_CELL = 18  # user units a cell
_CHARACTER = 6.7  # of the 11 px monospaced label font, measured generously
_TITLE_CHARACTER = 6.2  # of the 11 px font of titles, likewise
_LONGEST = 24  # cells of a label; what is longer ends in an ellipsis (the full one is in the label's title)
_SLANT = math.radians(50)  # of column labels that are wider than a cell
_TITLE = 18  # height of the line of a title
_BAR = 12  # width of a step of the colour bar


class _Place(NamedTuple):
    """Position of the map: its corner, its size in cells, and whether its first column is at the right."""

    left: float
    top: float
    n_rows: int
    n_columns: int
    mirrored: bool

    @property
    def width(self) -> int:
        return self.n_columns * _CELL

    @property
    def height(self) -> int:
        return self.n_rows * _CELL

    def x(self, column: int) -> int:
        """Return the left edge of a column, from that of the map."""
        return (self.n_columns - 1 - column if self.mirrored else column) * _CELL


def trace_svg(trace: Trace, map_name: str, head: Head = "mean") -> str:
    """Draw one head of a map, or the mean of its heads: tokens and titles on both axes, masked cells hatched, a scale.

    Cells of one colour level are one path, so a map of 40 x 40 tokens takes about 20 kB. No weight is lost to
    a screen reader: each row label's title names what the row attends to most.
    """
    shown = trace.map(map_name)
    title = f"{map_title(map_name)}, {head_name(head)}: rows attend to columns"
    return weights_svg(matrix(shown, head), allowed(shown, head), axes(trace, shown.kind), title)


def weights_svg(
    weights: NDArray[np.float32], mask: NDArray[np.bool_], labels: Axes, title: str, unit: str = "attention weight"
) -> str:
    """Draw weights [T S] in [0, 1] with these labels; `unit` names what the colours show."""
    beside = max(map(_width, labels.rows)) + 8
    above, overhang = _room_above(labels)
    bar = _width_of_bar(unit)
    inner = max(len(labels.columns) * _CELL, _title_width(labels.column_title), bar - beside)
    mirrored = labels.right_to_left
    spare = inner - len(labels.columns) * _CELL
    left = overhang + spare if mirrored else _TITLE + beside
    place = _Place(left, _TITLE + above, len(labels.rows), len(labels.columns), mirrored)
    width = _TITLE + beside + inner + overhang + 2
    bottom = place.top + max(place.height, _title_width(labels.row_title))
    height = bottom + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="heedful-map" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">',
        f"<title>{escape(title)}</title>",
        _STYLE,
        f'<g transform="translate({place.left:g},{place.top:g})">',
        f'<rect class="l0" fill="{css(LIGHT[0])}" width="{place.width}" height="{place.height}"/>',
        *_paths(weights, mask, place),
        f'<path class="grid" fill="none" stroke="#8884" stroke-width=".5" d="{_grid(place)}"/>',
        "</g>",
        *_row_labels(labels, weights, place),
        *_column_labels(labels.columns, place),
        *_titles(labels, place, width),
        *_scale_bar(unit, max(4, place.left + place.width - bar) if mirrored else _TITLE + 2, bottom + 18),
        "</svg>",
    ]
    return "\n".join(parts)


def _paths(weights: NDArray[np.float32], mask: NDArray[np.bool_], place: _Place) -> list[str]:
    """Draw one path for the cells of each colour level above 0, and one of strokes for the masked ones."""
    cells: dict[int, list[str]] = {}
    hatch: list[str] = []
    for t, s in np.ndindex(*weights.shape):
        x, y = place.x(s), t * _CELL
        if not mask[t, s]:
            hatch.append(f"M{x} {y + _CELL}l{_CELL}-{_CELL}")
        elif (step := level(float(weights[t, s]))) > 0:
            cells.setdefault(step, []).append(f"M{x} {y}h{_CELL}v{_CELL}h-{_CELL}z")
    drawn = [f'<path class="l{step}" fill="{css(LIGHT[step])}" d="{"".join(cells[step])}"/>' for step in sorted(cells)]
    if hatch:
        drawn.append(f'<path class="hatch" stroke="#8889" stroke-width=".8" d="{"".join(hatch)}"/>')
    return drawn


def _grid(place: _Place) -> str:
    across = "".join(f"M0 {t * _CELL}h{place.width}" for t in range(place.n_rows + 1))
    down = "".join(f"M{s * _CELL} 0v{place.height}" for s in range(place.n_columns + 1))
    return across + down


def _row_labels(labels: Axes, weights: NDArray[np.float32], place: _Place) -> list[str]:
    """Write the row labels, which end at the map, on the side of its first column."""
    drawn = []
    for t, label in enumerate(labels.rows):
        y = place.top + t * _CELL + _CELL // 2 + 4
        x, anchor = (place.left + place.width + 5, "start") if place.mirrored else (place.left - 5, "end")
        best = [s for s in np.argsort(-weights[t], kind="stable")[:3] if weights[t, s] > 0]
        reads = ", ".join(f"{labels.columns[s]} {weights[t, s]:.2f}" for s in best) or "nothing"
        title = f"<title>{escape(f'{label} attends to {reads}')}</title>"
        drawn.append(f'<text {_LABEL} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(_cut(label))}{title}</text>')
    return drawn


def _column_labels(columns: list[str], place: _Place) -> list[str]:
    """Write the column labels, which stand on the map: upright where they fit a cell, else slanted in the direction of
    reading.

    Where more than a third is too wide, all are slanted, or they would lie over each other.
    """
    drawn = []
    wide = [_width(label) > _CELL for label in columns]
    all_slanted = 3 * sum(wide) > len(columns)
    for s, label in enumerate(columns):
        x, y = place.left + place.x(s) + _CELL / 2, place.top - 6
        if not (wide[s] or all_slanted):
            turn = f'x="{x:g}" y="{y:g}" text-anchor="middle"'
        else:
            sign, anchor = ("", "end") if place.mirrored else ("-", "start")
            x += -3 if place.mirrored else 3
            turn = f'transform="translate({x:g},{y:g})rotate({sign}{math.degrees(_SLANT):.0f})" text-anchor="{anchor}"'
        drawn.append(f"<text {_LABEL} {turn}>{escape(_cut(label))}<title>{escape(label)}</title></text>")
    return drawn


def _titles(labels: Axes, place: _Place, width: float) -> list[str]:
    """Write the titles of columns and rows along their axes."""
    drawn = []
    if labels.column_title:
        x, anchor = (place.left + place.width, "end") if place.mirrored else (place.left, "start")
        drawn.append(f'<text {_MUTED} x="{x:g}" y="12" text-anchor="{anchor}">{escape(labels.column_title)}</text>')
    if labels.row_title:
        x, turn = (width - 12, 90) if place.mirrored else (12, -90)
        anchor = "start" if place.mirrored else "end"
        drawn.append(
            f'<text {_MUTED} transform="translate({x:g},{place.top:g})rotate({turn})" text-anchor="{anchor}">'
            f"{escape(labels.row_title)}</text>"
        )
    return drawn


def _scale_bar(unit: str, x: float, y: float) -> list[str]:
    """Draw the colour bar: from 0 to 1, in the steps of the map."""
    start = x + _title_width(unit) + 18
    steps = [
        f'<rect class="l{step}" fill="{css(LIGHT[step])}" x="{start + step * _BAR / 2:g}" y="{y - 9:g}" '
        f'width="{_BAR / 2:g}" height="10"/>'
        for step in range(STEPS + 1)
    ]
    end = start + (STEPS + 1) * _BAR / 2
    return [
        f'<text {_MUTED} x="{x:g}" y="{y:g}">{escape(unit)}</text>',
        f'<text {_MUTED} x="{start - 4:g}" y="{y:g}" text-anchor="end">0</text>',
        *steps,
        f'<rect fill="none" stroke="#8888" stroke-width=".5" x="{start:g}" y="{y - 9:g}" width="{end - start:g}" '
        'height="10"/>',
        f'<text {_MUTED} x="{end + 4:g}" y="{y:g}">1</text>',
    ]


def _width_of_bar(unit: str) -> float:
    return _title_width(unit) + 18 + (STEPS + 1) * _BAR / 2 + 14


def _room_above(labels: Axes) -> tuple[float, float]:
    """Return the height of the column labels, and by how much the last one may stand out at the side."""
    widest = max(map(_width, labels.columns))
    if widest <= _CELL:
        return 20, 0
    last = _width(labels.columns[-1])
    return math.ceil(widest * math.sin(_SLANT)) + 14, math.ceil(max(0, last * math.cos(_SLANT) - _CELL / 2)) + 6


def _width(label: str) -> int:
    return round(cell_len(_cut(label)) * _CHARACTER)


def _title_width(title: str) -> float:
    return round(cell_len(title) * _TITLE_CHARACTER)


def _cut(label: str) -> str:
    """Cut a label to at most `_LONGEST` cells."""
    if cell_len(label) <= _LONGEST:
        return label
    kept = label
    while cell_len(kept) > _LONGEST - 1:
        kept = kept[:-1]
    return kept + "…"


def _set(colours: list[Colour], ink: str, muted: str) -> str:
    steps = "".join(f"--l{step}:{css(colour)};" for step, colour in enumerate(colours))
    return f"{steps}--ink:{ink};--muted:{muted}"


_LABEL = 'class="label" fill="#333" font-size="11" font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace"'
_MUTED = 'class="muted" fill="#666" font-size="11" font-family="system-ui,Segoe UI,DejaVu Sans,sans-serif"'
_NOT_LIGHT = ":root:not([data-theme=light])"
_DARK = _set(DARK, "#ccc", "#98a1ac")
_STYLE = (
    f"<style>.heedful-map{{{_set(LIGHT, '#333', '#666')}}}"
    f"@media(prefers-color-scheme:dark){{{_NOT_LIGHT} .heedful-map,{_NOT_LIGHT}.heedful-map{{{_DARK}}}}}"
    f":root[data-theme=dark] .heedful-map{{{_DARK}}}"
    + "".join(f".heedful-map .l{step}{{fill:var(--l{step})}}" for step in range(STEPS + 1))
    + ".heedful-map .label{fill:var(--ink)}.heedful-map .muted{fill:var(--muted)}</style>"
)
