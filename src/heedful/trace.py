"""What one sentence pair's attention looked like: weights and masks of all layers and heads, tokens on both axes.

Knows no model, no drawing and no file: models fill a `Trace`, `heedful.inspection` shows it.
"""

import math
import re
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_NAME = re.compile(r"encoder\.\d+\.self|decoder\.\d+\.(self|cross)|reader\.\d+\.read")


class Map(NamedTuple):
    """The attention weights of one sublayer for one sentence, taken in eval mode and before dropout.

    name: "encoder.0.self", "decoder.1.self", "decoder.1.cross", or "reader.0.read" where a model without a decoder
        reads the source for its answer; layers (there: readings) are counted from 0.
    weights: each row is what one query position reads; 0 where the mask forbids.
    mask: True = may attend, one for all heads or one a head.
    """

    name: str
    weights: Float[Tensor, "H T S"]
    mask: Bool[Tensor, "1|H T S"]

    @property
    def stack(self) -> str:
        """ "encoder", "decoder" or "reader"."""
        return self.name.split(".")[0]

    @property
    def layer(self) -> int:
        """The layer, counted from 0."""
        return int(self.name.split(".")[1])

    @property
    def kind(self) -> str:
        """ "encoder.self", "decoder.self", "decoder.cross" or "reader.read": the name without the layer."""
        stack, _, source = self.name.split(".")
        return f"{stack}.{source}"

    @property
    def n_heads(self) -> int:
        """The number of heads H."""
        return self.weights.shape[0]


class Trace(NamedTuple):
    """All attention of one sentence pair, with its tokens; row t of a decoder map consumed[t] to predict predicted[t].

    A model without a decoder consumes nothing: there `consumed` is `predicted`, its labels, without "</s>".

    source: pieces and "</s>".  consumed: "<s>" and pieces.  predicted: pieces and "</s>".
    log_p: the natural log-probability of each predicted token given those before it.
    source_text, output_text: what the tokens are of, as a person reads it; "" where nobody said.
    """

    source: list[str]
    consumed: list[str]
    predicted: list[str]
    log_p: list[float]
    maps: list[Map]
    source_text: str = ""
    output_text: str = ""

    def map(self, name: str) -> Map:
        """Return the map of this name. Raises ValueError, listing the names, where there is none."""
        for found in self.maps:
            if found.name == name:
                return found
        there = ", ".join(found.name for found in self.maps) or "none"
        raise ValueError(f"`name` must be a map of this trace ({there}), but is {name!r}.")

    def shape(self, kind: str) -> tuple[int, int]:
        """Return (rows, columns) of a map of this kind: S S, T T or T S."""
        n_source, n_target = len(self.source), len(self.consumed)
        return {
            "encoder.self": (n_source, n_source),
            "decoder.self": (n_target, n_target),
            "decoder.cross": (n_target, n_source),
            "reader.read": (n_target, n_source),
        }[kind]


def check_trace(trace: Trace) -> Trace:
    """Return the trace as it is if its labels, shapes and masks agree with each other; ValueError where they do not.

    Rows need not sum to 1 (not every normaliser's do), but a weight is finite, and 0 where the mask forbids.
    """
    n_target = len(trace.predicted)
    for name, labels in (("consumed", trace.consumed), ("log_p", trace.log_p)):
        if len(labels) != n_target:
            raise ValueError(f"`{name}` must be as long as `predicted` ({n_target}), but has {len(labels)}.")
    if any(math.isnan(value) for value in trace.log_p):
        raise ValueError(f"`log_p` must hold numbers, but is {trace.log_p}.")
    names = [m.name for m in trace.maps]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"`maps` must have different names, but `{repeated}` is there {names.count(repeated)} times.")
    for found in trace.maps:
        _check_map(found, trace)
    return trace


def _check_map(found: Map, trace: Trace) -> None:
    if _NAME.fullmatch(found.name) is None:
        raise ValueError(
            f"`name` must be like encoder.0.self, decoder.0.self, decoder.0.cross or reader.0.read, "
            f"but is {found.name!r}."
        )
    shape = trace.shape(found.kind)
    weights, mask = found.weights, found.mask
    if weights.ndim != 3 or tuple(weights.shape[1:]) != shape:
        raise ValueError(f"`{found.name}`: weights must be [H, {shape[0]}, {shape[1]}], but are {list(weights.shape)}.")
    if mask.dtype != torch.bool or mask.shape not in {(1, *shape), tuple(weights.shape)}:
        raise ValueError(
            f"`{found.name}`: the mask must be bool [1 or {found.n_heads}, {shape[0]}, {shape[1]}], "
            f"but is {mask.dtype} {list(mask.shape)}."
        )
    if not torch.isfinite(weights).all():
        raise ValueError(f"`{found.name}`: weights must be finite, but some are NaN or infinite.")
    if (weights.masked_fill(mask, 0) != 0).any():
        raise ValueError(f"`{found.name}`: a weight must be 0 where the mask forbids, but some are not.")
