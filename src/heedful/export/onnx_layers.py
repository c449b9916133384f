"""The layers of a Transformer as ONNX nodes, each named after the module whose weights it reads.

What they compute, and from which paper it is, stands beside those modules in `heedful.attention` and `heedful.layers`.
Knows no whole network: `heedful.export.onnx_transformer` puts them together. Vectors are rows [R D], R = B * S in the
encoder and N in a step, since a product of rows with a matrix needs no transposed copy of it.
"""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from heedful.export.onnx_graph import Graph
from heedful.export.onnx_positions import RelativeNodes
from heedful.models.transformer_config import TransformerConfig

LOWEST = np.finfo(np.float32).min  # a score where the mask forbids: exp(LOWEST - any real score) is 0


@final
class Layers:
    """Adds the parts of one model to one graph; every method returns the name of what it computed."""

    def __init__(self, config: TransformerConfig, graph: Graph) -> None:
        self.config = config
        self.graph = graph

    def linear(self, module: str, x: str) -> str:
        """Add x W^T + b: [R in] to [R out]."""
        bias = [f"{module}.bias"] if self.graph.has_weight(f"{module}.bias") else []
        return self.graph.add(module, "Gemm", [x, f"{module}.weight", *bias], {"transB": 1})

    def norm(self, module: str, x: str) -> str:
        """Add LayerNorm over the last axis."""
        wanted = {"axis": -1, "epsilon": self.config.norm_epsilon}
        return self.graph.add(module, "LayerNormalization", [x, f"{module}.weight", f"{module}.bias"], wanted)

    def sublayer(self, module: str, x: str, f: Callable[[str], str]) -> str:
        """Add a sublayer; post: LN(x + f(x)); pre: x + f(LN(x))."""
        if self.config.norm == "pre":
            return self.graph.add(f"{module}.sum", "Add", [x, f(self.norm(f"{module}.norm", x))])
        return self.norm(f"{module}.norm", self.graph.add(f"{module}.sum", "Add", [x, f(x)]))

    def final_norm(self, module: str, x: str) -> str:
        """Add the norm after a stack of pre-norm layers; nothing after post-norm ones."""
        return self.norm(module, x) if self.config.norm == "pre" else x

    def feed_forward(self, module: str, x: str) -> str:
        """Add max(0, x W_1 + b_1) W_2 + b_2, or with x Phi(x) or x sigmoid(x) in place of max(0, x)."""
        wide = self.linear(f"{module}.widen", x)
        activation = {"relu": self._relu, "gelu": self._gelu, "swish": self._swish}[self.config.activation]
        return self.linear(f"{module}.narrow", activation(module, wide))

    def _relu(self, module: str, x: str) -> str:
        return self.graph.add(f"{module}.activation", "Relu", [x])

    def _swish(self, module: str, x: str) -> str:
        name = f"{module}.activation"
        return self.graph.add(name, "Mul", [x, self.graph.add(f"{name}.sigmoid", "Sigmoid", [x])])

    def _gelu(self, module: str, x: str) -> str:
        """Add x (1 + erf(x / sqrt 2)) / 2, which is torch's default, not the approximation by tanh."""
        graph, name = self.graph, f"{module}.activation"
        scaled = graph.add(f"{name}.scaled", "Div", [x, graph.constant("sqrt_two", np.float32(2**0.5))])
        erf = graph.add(f"{name}.erf", "Erf", [scaled])
        raised = graph.add(f"{name}.raised", "Add", [erf, graph.constant("one", np.float32(1))])
        doubled = graph.add(f"{name}.doubled", "Mul", [x, raised])
        return graph.add(name, "Mul", [doubled, graph.constant("half", np.float32(0.5))])

    def embed(self, module: str, weight: str, ids: str) -> str:
        """Add a look-up of embedding rows, scaled by sqrt(d_model) where the model does."""
        graph = self.graph
        if not self.config.scale_embedding:
            return graph.add(module, "Gather", [weight, ids])
        rows = graph.add(f"{module}.rows", "Gather", [weight, ids])
        scale = graph.constant("embedding_scale", np.float32(self.config.d_model**0.5))
        return graph.add(module, "Mul", [rows, scale])

    def project(self, module: str, x: str, shape: str, name: str | None = None) -> str:
        """Project rows [R D] to heads, [B H L E]; `shape` is the name of [B, L, H, E]."""
        rows = self.graph.add(f"{module}.split", "Reshape", [self.linear(module, x), shape])
        return self._swap(name or f"{module}.heads", rows)

    def project_one(self, module: str, x: str, width: int) -> str:
        """Project rows [N D] to heads of one position each, [N H 1 E]."""
        shape = self.graph.constant(f"one_of_{width}", np.array([-1, self.config.n_heads, 1, width]))
        return self.graph.add(f"{module}.heads", "Reshape", [self.linear(module, x), shape])

    def attend(
        self,
        module: str,
        query: str,
        key_value: tuple[str, str],
        visible: "Visible | None" = None,
        relative: RelativeNodes | None = None,
    ) -> str:
        """Add Concat(softmax(Q K^T / sqrt(d_k)) V) W_O, [B H L E] to rows [R D]; `relative` is of self-attention.

        Without `visible` every key is seen; with it, a query that may see none reads zeros.
        """
        graph, (key, value) = self.graph, key_value
        scale = graph.constant("score_scale", np.float32(self.config.head_key_width**-0.5))
        scaled = graph.add(f"{module}.scaled", "Mul", [query, scale])
        turned = graph.add(f"{module}.turned", "Transpose", [key], {"perm": [0, 1, 3, 2]})
        scores = graph.add(f"{module}.scores", "MatMul", [scaled, turned])
        if relative is not None:
            scores = relative.biased(module, scaled, scores)
        if visible is not None:
            lowest = graph.constant("lowest_score", np.float32(LOWEST))
            scores = graph.add(f"{module}.visible", "Where", [visible.keys, scores, lowest])
        weights = graph.add(f"{module}.weights", "Softmax", [scores], {"axis": -1})
        context = graph.add(f"{module}.context", "MatMul", [weights, value])
        if relative is not None:
            context = relative.read(module, weights, context)
        if visible is not None:
            context = graph.add(f"{module}.read", "Mul", [context, visible.any_key])
        width = self.config.n_heads * self.config.head_value_width
        beside = self._swap(f"{module}.beside", context)
        joined = graph.add(f"{module}.joined", "Reshape", [beside, graph.constant("joined", np.array([-1, width]))])
        return self.linear(f"{module}.project_out", joined)

    def _swap(self, name: str, x: str) -> str:
        """Transpose [B L H E] to [B H L E], and back."""
        return self.graph.add(name, "Transpose", [x], {"perm": [0, 2, 1, 3]})

    def visible(self, mask: str) -> "Visible":
        """Turn a key padding mask, bool [B S], into the form that attention uses."""
        graph = self.graph
        keys = graph.add("visible_keys", "Unsqueeze", [mask, graph.constant("middle_axes", np.array([1, 2]))])
        as_numbers = graph.cast("visible_keys.number", keys, np.float32)
        any_key = graph.add("any_visible", "ReduceMax", [as_numbers], {"axes": [3], "keepdims": 1})
        return Visible(keys, any_key)


class Visible(NamedTuple):
    """Mask of the keys that may be seen, bool [B 1 1 S], and whether there is one at all, 1 or 0 of
    float32 [B 1 1 1].
    """

    keys: str
    any_key: str
