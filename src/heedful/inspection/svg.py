"""One attention map as a small self-contained SVG, the same bytes for the same trace: for reports, with no script.

Knows no file and no page around it: colours follow `prefers-color-scheme`, or `data-theme` on the root element.
"""

from html import escape

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from heedful.inspection.labels import Axes, Head, allowed, axes, head_name, matrix
from heedful.inspection.scale import DARK, LIGHT, STEPS, Colour, css, level
from heedful.trace import Trace

_CELL = 18  # user units a cell
_CHARACTER = 6.7  # of the 11 px monospaced label font, measured generously
_LONGEST = 24  # cells of a label; what is longer ends in an ellipsis (the full one is in the row's title)


def trace_svg(trace: Trace, map_name: str, head: Head = "mean") -> str:
    """Draw one head of a map, or the mean of its heads: tokens on both axes, masked cells hatched, titled rows.

    Cells of one colour level are one path, so a map of 40 x 40 tokens takes about 20 kB. No weight is lost to
    a screen reader: each row label's title names what the row reads most.
    """
    shown = trace.map(map_name)
    title = f"{map_name}, {head_name(head)}: rows read columns"
    return weights_svg(matrix(shown, head), allowed(shown, head), axes(trace, shown.kind), title)


def weights_svg(weights: NDArray[np.float32], mask: NDArray[np.bool_], labels: Axes, title: str) -> str:
    """Draw weights [T S] in [0, 1] with these labels."""
    rows, columns = labels
    left = max(_width(label) for label in rows) + 8
    top = max(_width(label) for label in columns) + 8
    width, height = len(columns) * _CELL, len(rows) * _CELL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="heedful-map" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {left + width + 2} {top + height + 2}" width="{left + width + 2}" height="{top + height + 2}">',
        f"<title>{escape(title)}</title>",
        _STYLE,
        f'<g transform="translate({left},{top})">',
        f'<rect class="l0" fill="{css(LIGHT[0])}" width="{width}" height="{height}"/>',
        *_paths(weights, mask),
        f'<path class="grid" fill="none" stroke="#8884" stroke-width=".5" d="{_grid(len(rows), len(columns))}"/>',
        "</g>",
        *_labels(rows, columns, weights, left, top),
        "</svg>",
    ]
    return "\n".join(parts)


def _paths(weights: NDArray[np.float32], mask: NDArray[np.bool_]) -> list[str]:
    """One path for the cells of each colour level above 0, and one of strokes for the masked ones."""
    cells: dict[int, list[str]] = {}
    hatch: list[str] = []
    for t, s in np.ndindex(*weights.shape):
        x, y = s * _CELL, t * _CELL
        if not mask[t, s]:
            hatch.append(f"M{x} {y + _CELL}l{_CELL}-{_CELL}")
        elif (step := level(float(weights[t, s]))) > 0:
            cells.setdefault(step, []).append(f"M{x} {y}h{_CELL}v{_CELL}h-{_CELL}z")
    drawn = [f'<path class="l{step}" fill="{css(LIGHT[step])}" d="{"".join(cells[step])}"/>' for step in sorted(cells)]
    if hatch:
        drawn.append(f'<path class="hatch" stroke="#8889" stroke-width=".8" d="{"".join(hatch)}"/>')
    return drawn


def _grid(n_rows: int, n_columns: int) -> str:
    across = "".join(f"M0 {t * _CELL}h{n_columns * _CELL}" for t in range(n_rows + 1))
    down = "".join(f"M{s * _CELL} 0v{n_rows * _CELL}" for s in range(n_columns + 1))
    return across + down


def _labels(rows: list[str], columns: list[str], weights: NDArray[np.float32], left: int, top: int) -> list[str]:
    """Row labels end at the map, column labels stand on it, read upwards."""
    drawn = []
    for t, label in enumerate(rows):
        y = top + t * _CELL + _CELL // 2 + 4
        best = [s for s in np.argsort(-weights[t], kind="stable")[:3] if weights[t, s] > 0]
        reads = ", ".join(f"{columns[s]} {weights[t, s]:.2f}" for s in best) or "nothing"
        title = f"<title>{escape(f'{label} reads {reads}')}</title>"
        drawn.append(f'<text x="{left - 5}" y="{y}" text-anchor="end" {_FONT}>{escape(_cut(label))}{title}</text>')
    for s, label in enumerate(columns):
        x, y = left + s * _CELL + _CELL // 2 + 4, top - 5
        turn = f'transform="translate({x},{y})rotate(-90)"'
        drawn.append(f"<text {turn} {_FONT}>{escape(_cut(label))}<title>{escape(label)}</title></text>")
    return drawn


def _width(label: str) -> int:
    return round(cell_len(_cut(label)) * _CHARACTER)


def _cut(label: str) -> str:
    """At most `_LONGEST` cells of the label."""
    if cell_len(label) <= _LONGEST:
        return label
    kept = label
    while cell_len(kept) > _LONGEST - 1:
        kept = kept[:-1]
    return kept + "…"


def _set(colours: list[Colour], ink: str) -> str:
    return "".join(f"--l{step}:{css(colour)};" for step, colour in enumerate(colours)) + f"--ink:{ink}"


_FONT = 'fill="#333" font-size="11" font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace"'
_NOT_LIGHT = ":root:not([data-theme=light])"
_STYLE = (
    f"<style>.heedful-map{{{_set(LIGHT, '#333')}}}"
    f"@media(prefers-color-scheme:dark){{{_NOT_LIGHT} .heedful-map,{_NOT_LIGHT}.heedful-map{{{_set(DARK, '#ccc')}}}}}"
    f":root[data-theme=dark] .heedful-map{{{_set(DARK, '#ccc')}}}"
    + "".join(f".heedful-map .l{step}{{fill:var(--l{step})}}" for step in range(STEPS + 1))
    + ".heedful-map text{fill:var(--ink)}</style>"
)
