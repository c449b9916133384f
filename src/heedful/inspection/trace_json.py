"""A trace as plain data: what `heedful inspect --json` prints.

Knows no drawing. The numbers are exact: each float32 is written as the shortest decimal that reads back to it.
"""

from typing import Any

import numpy as np
from torch import Tensor

from heedful.trace import Trace


def trace_to_tree(trace: Trace) -> dict[str, Any]:
    """Convert a trace to {source, consumed, predicted, log_p, maps: [{name, heads, weights, mask}], source_text,
    output_text}, ready for `json.dumps`.
    """
    maps = [
        {
            "name": shown.name,
            "heads": shown.n_heads,
            "weights": shortest(shown.weights),
            "mask": shown.mask.detach().cpu().tolist(),
        }
        for shown in trace.maps
    ]
    return {**trace._asdict(), "maps": maps}


def shortest(values: Tensor) -> Any:
    """Convert float32 values to nested lists, each value as the shortest decimal that is still that value."""
    return values.detach().float().cpu().numpy().astype(np.str_).astype(np.float64).tolist()
