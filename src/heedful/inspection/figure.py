"""Attention maps as a figure for a paper: the heads of one map side by side, as PNG or SVG.

Knows no screen: it draws without pyplot, so no window is opened and no global figure is kept.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes as Panel
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font
from matplotlib.patches import Rectangle

from heedful.errors import ConfigError
from heedful.inspection.colour_scale import LIGHT, css
from heedful.inspection.labels import Axes, Head, allowed, axes, head_name, map_title, matrix
from heedful.text.output_files import write_output
from heedful.trace import Map, Trace

_CELL_INCHES = 0.2
_POINTS = 72  # an inch
_SLANT = 50.0  # degrees
_LARGEST_INCHES = 9.0  # a panel's longer side; with more tokens the cells shrink instead
_FONT = "DejaVu Sans"  # comes with matplotlib
_LAST_RESORT = "Last Resort"  # matplotlib's font of boxes: it has every character and shows none
_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "heedful", "hatch.linewidth": 0.4, "font.size": 8}
_SCALE = LinearSegmentedColormap.from_list("heedful", [css(colour) for colour in LIGHT])


def save_figure(trace: Trace, name: str, heads: Sequence[Head], path: Path) -> None:
    """Draw these heads of one map into a .png or .svg file (the same bytes for the same trace), all of it at once.

    Characters that no installed font has are written as their code point, ⟨U+6F22⟩, not as empty boxes.
    Raises ConfigError for another suffix.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in {"png", "svg"}:
        raise ConfigError(f"{path} ends neither in .png nor in .svg.", hint="The suffix chooses the kind of figure.")
    with rc_context(_SETTINGS):
        figure = draw_heads(trace, name, heads)
        metadata = {"Date": None} if suffix == "svg" else {}
        drawn = BytesIO()
        figure.savefig(drawn, format=suffix, dpi=200, metadata=metadata)
    write_output(path, drawn.getvalue())


def draw_heads(trace: Trace, name: str, heads: Sequence[Head]) -> Figure:
    """Draw one panel a head: tokens and titles on the outer axes, masked cells hatched, one colour bar from 0 to 1.

    Columns that are read from right to left begin at the right, and the labels of the rows stand there.
    """
    shown = trace.map(name)
    labels = axes(trace, shown.kind)
    characters = frozenset("".join([*labels.rows, *labels.columns]))
    families, missing = _fonts_for(characters)
    rows, columns = ([_printable(label, missing) for label in side] for side in (labels.rows, labels.columns))
    across = min(len(heads), math.ceil(math.sqrt(len(heads) * len(rows) / len(columns))), 8)
    down = math.ceil(len(heads) / across)
    cell = min(_CELL_INCHES, _LARGEST_INCHES / max(len(rows), len(columns)))
    beside, above = (0.075 * max(map(len, side)) + 0.6 for side in (rows, columns))
    size = (across * (len(columns) * cell + 0.25) + beside + 0.8, down * (len(rows) * cell + 0.35) + above + 0.2)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat
    font_size = max(3.0, min(8.0, cell * 40))
    scale = ScalarMappable(Normalize(0, 1), _SCALE)
    for panel, head in zip(panels, heads, strict=False):
        _draw_head(panel, shown, head)
        ticks = panel.set_xticks(range(len(columns)), columns, fontsize=font_size, family=families)
        panel.set_yticks(range(len(rows)), rows, fontsize=font_size, family=families)
        panel.tick_params(length=0, bottom=False, labelbottom=False, labeltop=panel.get_subplotspec().is_first_row())
        panel.set_xlabel(head_name(head), fontsize=8)
        for tick in ticks:
            if 0.7 * len(tick.label2.get_text()) * font_size > cell * _POINTS:
                tick.label2.set(**_slant(labels.right_to_left))
    for panel in list(figure.axes)[len(heads) :]:
        panel.set_axis_off()
    bar = figure.colorbar(scale, ax=figure.axes, shrink=0.6, aspect=25, label="attention weight")
    bar.outline.set(linewidth=0.4)
    _title(figure, labels, map_title(name))
    return figure


def _slant(right_to_left: bool) -> dict[str, Any]:
    """Return the rotation of column labels that are wider than their cells: they rise in the direction of reading."""
    turn = {"rotation": -_SLANT, "ha": "right"} if right_to_left else {"rotation": _SLANT, "ha": "left"}
    return {"rotation_mode": "anchor", **turn}


def _title(figure: Figure, labels: Axes, title: str) -> None:
    """Title the panel and its axes; the first panels are turned where their columns are."""
    figure.suptitle(title, fontsize=9)
    figure.supxlabel(labels.column_title, fontsize=8)
    figure.supylabel(labels.row_title, fontsize=8)
    if not labels.right_to_left:
        return
    for number, panel in enumerate(axis for axis in figure.axes if axis.images):
        if number == 0:
            panel.invert_xaxis()  # the panels share it
        place = panel.get_subplotspec()
        panel.tick_params(left=False, labelleft=False, labelright=place is not None and place.is_last_col())


def _draw_head(panel: Panel, shown: Map, head: Head) -> None:
    panel.imshow(matrix(shown, head), cmap=_SCALE, vmin=0, vmax=1, aspect="equal", interpolation="nearest")
    forbidden = ~allowed(shown, head)
    cells = [Rectangle((s - 0.5, t - 0.5), 1, 1) for t, s in zip(*forbidden.nonzero(), strict=True)]
    panel.add_collection(PatchCollection(cells, facecolor="none", edgecolor="#999999", linewidth=0, hatch="//////"))
    for spine in panel.spines.values():
        spine.set(linewidth=0.4, color="#999999")


@lru_cache(maxsize=64)
def _fonts_for(characters: frozenset[str]) -> tuple[list[str], frozenset[str]]:
    """Choose (font families that together have these characters, the characters that none has);
    Noto fonts come first.
    """
    families = [_FONT]
    missing = set(characters)
    candidates = sorted(fontManager.ttflist, key=lambda font: (font.name != _FONT, "Noto" not in font.name, font.name))
    for font in candidates:
        if not missing:
            break
        if font.style != "normal" or font.name.startswith(_LAST_RESORT):
            continue
        found = {character for character in missing if ord(character) in get_font(font.fname).get_charmap()}
        if found:
            families.append(font.name)
            missing -= found
    return list(dict.fromkeys(families)), frozenset(missing)


def _printable(label: str, missing: frozenset[str]) -> str:
    """Write a label with code points for missing glyphs, and direction marks for isolates (which fonts lack)."""
    label = label.replace("\u2068", "\u200e\u200f").replace("\u2069", "\u200f\u200e")
    return "".join(f"⟨U+{ord(character):04X}⟩" if character in missing else character for character in label)
