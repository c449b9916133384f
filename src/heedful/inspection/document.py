"""A trace as plain data and back: what `heedful inspect --json` prints, and what other tools may feed to the pages.

Knows no drawing. The numbers are exact: each float32 is written as the shortest decimal that reads back to it.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.trace import Map, Trace, check_trace


def trace_to_tree(trace: Trace) -> dict[str, Any]:
    """{source, consumed, predicted, log_p, maps: [{name, heads, weights, mask}], source_text, output_text}, ready for
    `json.dumps`.
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


def trace_from_tree(tree: dict[str, Any]) -> Trace:
    """The inverse of `trace_to_tree`; HeedfulError where a key is missing or the shapes disagree."""
    try:
        maps = [
            Map(m["name"], torch.tensor(m["weights"], dtype=torch.float32), torch.tensor(m["mask"], dtype=torch.bool))
            for m in tree["maps"]
        ]
        texts = [str(tree.get(name, "")) for name in ("source_text", "output_text")]
        return check_trace(Trace(tree["source"], tree["consumed"], tree["predicted"], tree["log_p"], maps, *texts))
    except KeyError as error:
        raise HeedfulError(
            f"The trace has no {error}.", hint="`heedful inspect MODEL TEXT --json` writes one to compare with."
        ) from None
    except (TypeError, ValueError) as error:
        raise HeedfulError(f"This is no trace: {error}") from None


def shortest(values: Tensor) -> Any:
    """Nested lists of float32 values, each as the shortest decimal that is still that value."""
    return values.detach().float().cpu().numpy().astype(np.str_).astype(np.float64).tolist()
