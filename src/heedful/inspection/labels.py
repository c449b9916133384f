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
    """Labels of one map: `rows` of the queries, `columns` of the keys, which they attend to; what each axis shows."""

    rows: list[str]
    columns: list[str]
    row_title: str
    column_title: str

    @property
    def right_to_left(self) -> bool:
        """True where the first column stands at the right, as those who read the columns expect."""
        return is_right_to_left(self.columns)


def axes(trace: Trace, kind: str) -> Axes:
    """Return the labels of a map of this kind; decoder rows are `consumed → predicted`, reader rows the label."""
    source = [visible(piece) for piece in trace.source]
    consumed = [visible(piece) for piece in trace.consumed]
    predicted = [visible(piece) for piece in trace.predicted]
    steps = [f"{_isolated(a)} → {_isolated(b)}" for a, b in zip(consumed, predicted, strict=True)]
    return {
        "encoder.self": Axes(source, source, "source (query)", "source (key)"),
        "decoder.self": Axes(steps, consumed, "output (query)", "output so far (key)"),
        "decoder.cross": Axes(steps, source, "output (query)", "source (key)"),
        "reader.read": Axes(predicted, source, "label (query)", "source (key)"),
    }[kind]


def map_title(name: str) -> str:
    """Return the name of a map in words: "Cross-attention, decoder layer 1" for decoder.1.cross."""
    stack, layer, source = name.split(".")
    if stack == "reader":
        return f"Attention for the label, reading {layer}"
    return f"{source.capitalize()}-attention, {stack} layer {layer}"


def usual_map(trace: Trace) -> str | None:
    """Return the name of the map to show first: the last cross-attention, else reading, else encoder layer, if any."""
    for kind in ("decoder.cross", "reader.read", "encoder.self", "decoder.self"):
        found = [shown.name for shown in trace.maps if shown.kind == kind]
        if found:
            return max(found, key=lambda name: int(name.split(".")[1]))
    return None


def is_right_to_left(labels: list[str]) -> bool:
    """Return whether most letters of these labels are of scripts that run from right to left."""
    words = [label for label in labels if label not in {"<s>", "</s>"}]
    letters = [character for word in words for character in word if character.isalpha()]
    turned = sum(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in letters)
    return 2 * turned > len(letters)


def visible(piece: str) -> str:
    """Make a piece visible: blanks as ␣, control and format characters as ⟨U+XXXX⟩.

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
    """Wrap right-to-left pieces in Unicode isolates, so that the arrow between two of them still
    points to the right.
    """
    turned = any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in piece)
    return f"\u2068{piece}\u2069" if turned else piece


def matrix(shown: Map, head: Head) -> NDArray[np.float32]:
    """Return the weights [T S] of one head, or their mean over the heads."""
    weights = shown.weights.detach().float().cpu().numpy()
    return weights.mean(axis=0) if check_head(shown, head) == "mean" else weights[head]


def allowed(shown: Map, head: Head) -> NDArray[np.bool_]:
    """Return the mask of the row, [T S]; for the mean: where any head may attend."""
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
    """Return "mean of heads" or "head 3"."""
    return "mean of heads" if head == "mean" else f"head {head}"
