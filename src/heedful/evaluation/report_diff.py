"""Outputs beside their closest references in a report: column by column, with what is wrong marked.

Works on texts alone.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from heedful.evaluation.edits import Change, EditUnits, aligned, beside_closest, edits

NOTHING = "·"  # stands where a unit is missing on one side
CONFUSIONS_SHOWN = 16


def comparison(output: str, references: Sequence[str]) -> str:
    """Return an output under its closest reference as HTML, with the units that differ marked on both sides.

    Units stand in columns; letters of scripts that join them stay joined, in two lines.
    """
    units = beside_closest(output, references)
    columns = aligned(units)
    said = escape(
        f"reference {units.joint.join(units.reference)}; output {units.joint.join(units.output) or 'nothing'}"
    )
    parted = _separable(units)
    inside = _in_columns(columns, units) if parted else _in_lines(columns, units)
    kind = f'class="diff {"parted" if parted else "whole"}" dir="{_direction(units)}"'
    return f'<div {kind} role="img" aria-label="{said}">{inside}</div>'


def _in_columns(columns: Sequence[Change], units: EditUnits) -> str:
    key = '<span class="pair key"><span>reference</span><span>output</span></span>'
    spaced = "" if units.by_character else " spaced"
    return f'{key}<div class="pairs-line{spaced}">{"".join(map(_pair, columns))}</div>'


def _pair(column: Change) -> str:
    if column.kind == "equal":
        text = escape(column.written) if column.written.strip() else "\u00a0"
        return f'<span class="pair"><span>{text}</span><span>{text}</span></span>'
    wanted = f'<span class="wanted">{escape(column.wanted)}</span>' if column.wanted else f"<span>{NOTHING}</span>"
    written = escape(column.written) if column.written else NOTHING
    return f'<span class="pair wrong">{wanted}<mark title="{_said(column)}">{written}</mark></span>'


def _said(column: Change) -> str:
    """Say what is wrong with a column, as its tooltip."""
    if column.kind == "insertion":
        return "insertion: too much"
    if column.kind == "deletion":
        return escape(f"deletion: {column.wanted} is missing")
    return escape(f"substitution: instead of {column.wanted}")


def _in_lines(columns: Sequence[Change], units: EditUnits) -> str:
    return (
        f'<div class="side"><span class="key">reference</span><bdi>{_line(columns, units, 1)}</bdi></div>'
        f'<div class="side"><span class="key">output</span><bdi>{_line(columns, units, 0)}</bdi></div>'
    )


def _line(columns: Sequence[Change], units: EditUnits, side: int) -> str:
    """Render one side of an alignment, neighbours of one kind in one element, so that letters stay joined."""
    parts = []
    for wrong, group in groupby(columns, lambda column: column.kind != "equal"):
        text = escape(units.joint.join(column[side] for column in group if column[side]))
        if not wrong:
            parts.append(text)
        elif side == 1:
            parts.append(f'<span class="wanted">{text}</span>' if text else "")
        else:
            parts.append(f"<mark>{text or NOTHING}</mark>")
    return units.joint.join(parts)


def _separable(units: EditUnits) -> bool:
    """Return whether units look the same when they stand alone: words do, and letters that neither
    join nor bear marks.
    """
    if not units.by_character:
        return True
    characters = {*units.output, *units.reference}
    joined = any(unicodedata.bidirectional(character) == "AL" for character in characters)
    return not joined and not any(unicodedata.category(character).startswith("M") for character in characters)


def _direction(units: EditUnits) -> str:
    letters = [character for unit in units.reference or units.output for character in unit if character.isalpha()]
    turned = sum(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in letters)
    return "rtl" if 2 * turned > len(letters) else "ltr"


def confusions(pairs: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return the most frequent edits of (output, references) pairs as HTML; nothing where none is there twice."""
    counts: Counter[Change] = Counter()
    for output, references in pairs:
        counts.update(edits(aligned(beside_closest(output, references))))
    frequent = [(edit, count) for edit, count in counts.most_common(CONFUSIONS_SHOWN) if count > 1]
    if not frequent:
        return ""
    items = "".join(
        f'<li title="{escape(edit.kind)}"><bdi class="wanted">{escape(edit.wanted or NOTHING)}</bdi> → '
        f'<bdi class="written">{escape(edit.written or NOTHING)}</bdi><span class="count">{count:,}</span></li>'
        for edit, count in frequent
    )
    return (
        '<h3>Most frequent edits <span class="quiet">reference → output; '
        f'{NOTHING} stands for nothing</span></h3><ol class="confusions">{items}</ol>'
    )
