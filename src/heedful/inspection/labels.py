"""The words on the axes of an attention map, and the choice of the matrix that is shown.

Knows no output: terminal, figures, SVG and page all take their labels and numbers from here.
"""

import unicodedata
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heedful.trace import Map, Trace

Head = int | str  # a head counted from 0, or "mean": the average over the heads


class Axes(NamedTuple):
    """Labels of one map: `rows` of the queries, `columns` of what they read."""

    rows: list[str]
    columns: list[str]


def axes(trace: Trace, kind: str) -> Axes:
    """The labels of a map of this kind; decoder rows read `consumed → predicted`, reader rows the label."""
    source = [visible(piece) for piece in trace.source]
    consumed = [visible(piece) for piece in trace.consumed]
    predicted = [visible(piece) for piece in trace.predicted]
    steps = [f"{_isolated(a)} → {_isolated(b)}" for a, b in zip(consumed, predicted, strict=True)]
    return {
        "encoder.self": Axes(source, source),
        "decoder.self": Axes(steps, consumed),
        "decoder.cross": Axes(steps, source),
        "reader.read": Axes(predicted, source),
    }[kind]


def visible(piece: str) -> str:
    """The piece with nothing in it that cannot be seen: blanks as ␣, control and format characters as ⟨U+XXXX⟩.

    Joiners stay where letters stand around them (they shape Indic, Arabic and emoji text).
    """
    shown = []
    for place, character in enumerate(piece):
        inside = 0 < place < len(piece) - 1
        if character in "\u200c\u200d" and inside:
            shown.append(character)
        elif character in " \u00a0\u3000":
            shown.append("␣")
        elif unicodedata.category(character) in {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp", "Zs"}:
            shown.append(f"⟨U+{ord(character):04X}⟩")
        else:
            shown.append(character)
    return "".join(shown) or "∅"


def _isolated(piece: str) -> str:
    """Right-to-left pieces in Unicode isolates, so that the arrow between two of them still points to the right."""
    turned = any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in piece)
    return f"\u2068{piece}\u2069" if turned else piece


def matrix(shown: Map, head: Head) -> NDArray[np.float32]:
    """The weights [T S] of one head, or their mean over the heads."""
    weights = shown.weights.detach().float().cpu().numpy()
    return weights.mean(axis=0) if check_head(shown, head) == "mean" else weights[head]


def allowed(shown: Map, head: Head) -> NDArray[np.bool_]:
    """Where the row may attend, [T S]; for the mean: where any head may."""
    mask = shown.mask.detach().cpu().numpy()
    if check_head(shown, head) == "mean" or mask.shape[0] == 1:
        return np.logical_or.reduce(mask, axis=0)
    return mask[head]


def check_head(shown: Map, head: Head) -> Head:
    """Return the head if this map has it; ValueError where not."""
    if head != "mean" and not (isinstance(head, int) and 0 <= head < shown.n_heads):
        raise ValueError(f"`head` must be 'mean' or 0 to {shown.n_heads - 1} for {shown.name}, but is {head!r}.")
    return head


def head_name(head: Head) -> str:
    """ "mean of heads" or "head 3"."""
    return "mean of heads" if head == "mean" else f"head {head}"
