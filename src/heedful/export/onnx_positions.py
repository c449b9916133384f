"""Positions as ONNX nodes: vectors that are added to tokens, and what self-attention is told of distances.

What they compute stands in `heedful.layers.position` and `heedful.layers.relative`. Positions are names of int64
vectors; sinusoids are computed in float64, as the model's own are, so that a sequence may be of any length.
"""

import math
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from heedful.export.onnx_graph import Graph
from heedful.layers.position import Layout
from heedful.layers.relative import alibi_slopes, bucket_of
from heedful.models.transformer_config import TransformerConfig


def with_positions(config: TransformerConfig, graph: Graph, module: str, embedded: str, numbers: str) -> str:
    """Add the vectors of these positions to embedded tokens. Beyond the trained ones the runtime raises an error."""
    match config.positions:
        case "learned":
            vectors = graph.add(module, "Gather", [f"{module}.weight", numbers])
        case "sinusoidal" | "t2t":
            vectors = sinusoids(graph, module, numbers, waves(config.d_model, config.positions))
        case _:
            return embedded
    return graph.add("embedded", "Add", [embedded, vectors])


@final
class RelativeNodes:
    """Positions that the self-attention of one graph reads: queries, and the keys made with them, stand at `queries`
    [T]; all S keys from 0 to the last of these. `side` is "encoder" or "decoder".
    """

    def __init__(self, config: TransformerConfig, graph: Graph, side: str, queries: str) -> None:
        self.config, self.graph, self.side, self.queries = config, graph, side, queries

    def rotate(self, name: str, x: str) -> str:
        """Turn new queries or keys [B H T E] by pairs of columns: (a, b) to (a cos - b sin, a sin + b cos)."""
        if self.config.positions != "rotary":
            return x
        swap = self.graph.constant("other_of_pair", np.arange(self.config.head_key_width) ^ 1)
        swapped = self.graph.add(f"{name}.swapped", "Gather", [x, swap], {"axis": 3})
        kept = self.graph.add(f"{name}.kept", "Mul", [x, self._turns[1]])
        moved = self.graph.add(f"{name}.moved", "Mul", [swapped, self._turns[0]])
        return self.graph.add(f"{name}.rotated", "Add", [kept, moved])

    def biased(self, attention: str, query: str, scores: str) -> str:
        """Add what distances add to scores [B H T S]; `query` is divided by sqrt(d_k) already."""
        match self.config.positions:
            case "relative":
                bias = self._by_query(attention, query, scores)
            case "t5":
                weight = f"{self.side}.0.relative.weight"  # that of all layers
                bias = self.graph.add(f"{attention}.bias", "Gather", [weight, self._buckets], {"axis": 1})  # [H T S]
            case "alibi":
                slopes = np.array(alibi_slopes(self.config.n_heads), np.float32)[:, None, None]
                steepness = self.graph.constant("slopes", -slopes)
                bias = self.graph.add(f"{attention}.bias", "Mul", [self._sizes, steepness])
            case _:
                return scores
        return self.graph.add(f"{attention}.biased", "Add", [scores, bias])

    def read(self, attention: str, weights: str, context: str) -> str:
        """Add to a context [B H T Ev] what distances add to values."""
        if not self.config.relative_values:
            return context
        name = f"{attention}.distances"
        vectors = self.graph.add(f"{name}.vectors", "Gather", [_weight(attention, "value"), self._numbers])  # [T S Ev]
        read = self.graph.add(f"{name}.read", "Einsum", [weights, vectors], {"equation": "bhts,tse->bhte"})
        return self.graph.add(name, "Add", [context, read])

    def _by_query(self, attention: str, query: str, scores: str) -> str:
        graph, name = self.graph, f"{attention}.bias"
        turned = graph.add(f"{name}.turned", "Transpose", [_weight(attention, "key")], {"perm": [1, 0]})
        each = graph.add(f"{name}.each", "MatMul", [query, turned])  # [B H T 2k+1]
        shape = graph.add(f"{name}.shape", "Shape", [scores])
        numbers = graph.add(f"{name}.numbers", "Expand", [self._numbers, shape])
        return graph.add(name, "GatherElements", [each, numbers], {"axis": 3})

    @cached_property
    def _distances(self) -> str:
        """Positions of keys minus those of queries, [T S]."""
        graph = self.graph
        zero, one, last = (
            graph.constant(name, np.int64(n)) for name, n in (("zero", 0), ("step_one", 1), ("last", -1))
        )
        end = graph.add("keys.end", "Add", [graph.add("keys.last", "Gather", [self.queries, last]), one])
        keys = graph.add("keys", "Range", [zero, end, one])
        column = graph.add("queries.column", "Unsqueeze", [self.queries, graph.constant("last_axis", np.array([-1]))])
        return graph.add("distances", "Sub", [keys, column])

    @cached_property
    def _sizes(self) -> str:
        return self.graph.cast(
            "distances.numbers", self.graph.add("distances.sizes", "Abs", [self._distances]), np.float32
        )

    @cached_property
    def _numbers(self) -> str:
        """Distances from -k to k, counted from 0."""
        return self._counted(self.config.clip_distance)

    @cached_property
    def _buckets(self) -> str:
        most, causal = self.config.max_distance, self.side == "decoder"
        every = range(-most, most + 1)
        table = [bucket_of(distance, self.config.n_buckets, most, causal=causal) for distance in every]
        return self.graph.add(
            "distances.buckets", "Gather", [self.graph.constant("buckets", np.array(table)), self._counted(most)]
        )

    @cached_property
    def _turns(self) -> tuple[str, str]:
        """Sines with the sign that they have in each column, and cosines, [T E]."""
        width = self.config.head_key_width
        frequencies = waves(width, "sinusoidal").frequencies
        signs = np.where(np.arange(width) % 2, 1.0, -1.0)
        sines = sinusoids(self.graph, "turns.sine", self.queries, Waves(frequencies * signs, np.zeros(width)))
        quarter = np.full(width, math.pi / 2)
        return sines, sinusoids(self.graph, "turns.cosine", self.queries, Waves(frequencies, quarter))

    def _counted(self, most: int) -> str:
        ends = [self.graph.constant(name, np.int64(end)) for name, end in (("nearest", -most), ("farthest", most))]
        clipped = self.graph.add("distances.clipped", "Clip", [self._distances, *ends])
        return self.graph.add("distances.counted", "Add", [clipped, ends[1]])


def _weight(attention: str, what: str) -> str:
    return f"{attention.removesuffix('.self_attention')}.relative.{what}"


class Waves(NamedTuple):
    """Sinusoidal positions as one sine: the vector of position p is sin(p * frequencies + phases)."""

    frequencies: NDArray[np.float64]  # [D]
    phases: NDArray[np.float64]  # [D]


def waves(d_model: int, layout: Layout) -> Waves:
    """Make the sinusoids of `heedful.layers.position`, with cos x = sin(x + pi / 2).

    The last column of tensor2tensor's layout with an odd width is 0, which is a sine of frequency and phase 0.
    """
    column = np.arange(d_model)
    if layout == "t2t":
        half = d_model // 2
        frequencies = 10000.0 ** -(column % max(half, 1) / max(half - 1, 1))
        is_cosine, is_wave = column >= half, column < 2 * half
        return Waves(frequencies * is_wave, is_cosine * is_wave * math.pi / 2)
    return Waves(10000.0 ** -(column // 2 * 2 / d_model), column % 2 * math.pi / 2)


def sinusoids(graph: Graph, name: str, numbers: str, wanted: Waves) -> str:
    """Add sin(p * frequencies + phases) for positions [L], as float32 [L D]."""
    exact = graph.cast(f"{name}.exact", numbers, np.float64)
    column = graph.add(f"{name}.column", "Unsqueeze", [exact, graph.constant("last_axis", np.array([-1]))])
    frequencies = graph.constant(f"{name}.frequencies", wanted.frequencies)
    turned = graph.add(f"{name}.turned", "Mul", [column, frequencies])
    angles = graph.add(f"{name}.angles", "Add", [turned, graph.constant(f"{name}.phases", wanted.phases)])
    return graph.cast(name, graph.add(f"{name}.sine", "Sin", [angles]), np.float32)
