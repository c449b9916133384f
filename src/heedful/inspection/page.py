"""One offline HTML file that shows any number of traces: layers, heads, links, heat map, exact numbers.

Knows no model. The page's looks and behaviour stand in `assets/`; this module puts them, the data and nothing else into
one file, with a content policy that forbids every request.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from heedful.inspection.colour_scale import DARK, LIGHT, css
from heedful.inspection.labels import visible
from heedful.trace import Map, Trace

EXACT_BYTES = 24 * 2**20  # up to this much float32 travels exactly; more is rounded to 1/255
_SCRIPTS = ("data.js", "draw.js", "main.js", "focus.js", "events.js")  # one script, in this order


def page(traces: Sequence[Trace], title: str, exact_bytes: int = EXACT_BYTES) -> str:
    """Return the HTML of a page that shows these traces, headed by their texts; `title` names the model.

    Weights travel as base64 of float32 while all of them fit in `exact_bytes`, else of uint8 (weight x 255), and the
    page says which. Raises ValueError where there is no trace, or one without maps.
    """
    if not traces:
        raise ValueError("`traces` must hold at least one trace, but is empty.")
    for place, trace in enumerate(traces):
        if not trace.maps:
            raise ValueError(f"`traces` must have attention maps, but trace {place} has none.")
    size = sum(4 * shown.weights.numel() for trace in traces for shown in trace.maps)
    encoding = "float32" if size <= exact_bytes else "uint8"
    data = {
        "title": title,
        "scale": {"light": [css(colour) for colour in LIGHT], "dark": [css(colour) for colour in DARK]},
        "traces": [_packed(trace, encoding) for trace in traces],
    }
    script = "\n".join(_asset(name) for name in _SCRIPTS)
    filled = {
        "<!--title-->": escape(traces[0].source_text or title),
        "/*style*/": _asset("style.css"),
        "/*data*/": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        "/*script*/": script,
    }
    html = _asset("page.html")
    for mark, text in filled.items():
        before, _, after = html.partition(mark)
        html = before + text + after
    return html


def _asset(name: str) -> str:
    return (files("heedful.inspection") / "assets" / name).read_text(encoding="utf-8")


def _packed(trace: Trace, encoding: str) -> dict[str, Any]:
    return {
        "source_text": trace.source_text,
        "output_text": trace.output_text,
        "source": [visible(piece) for piece in trace.source],
        "consumed": [visible(piece) for piece in trace.consumed],
        "predicted": [visible(piece) for piece in trace.predicted],
        "log_p": trace.log_p,
        "maps": [_packed_map(shown, encoding) for shown in trace.maps],
    }


def _packed_map(shown: Map, encoding: str) -> dict[str, Any]:
    """Pack weights in row order [H T S], little-endian, and the mask as bits (None where everything is allowed)."""
    heads, rows, columns = shown.weights.shape
    weights = shown.weights.detach().float().cpu().numpy()
    raw = weights.astype("<f4") if encoding == "float32" else (weights.clip(0, 1) * 255).round().astype(np.uint8)
    mask = shown.mask.detach().cpu().numpy()
    return {
        "name": shown.name,
        "heads": heads,
        "rows": rows,
        "columns": columns,
        "encoding": encoding,
        "weights": b64encode(raw.tobytes()).decode("ascii"),
        "mask_heads": mask.shape[0],
        "mask": None if mask.all() else b64encode(np.packbits(mask).tobytes()).decode("ascii"),
    }
