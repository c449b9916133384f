"""Multi-head attention [Vaswani 2017, 3.2.2] over a memory that is projected once.

Knows no residual, no norm and no cache: a decoding step appends to a `KeyValue` and calls the same `forward`.
"""

from collections.abc import Callable
from typing import NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attention.core import Attended, attend, quickest_attention
from heedful.attention.masks import Mask
from heedful.attention.normalise import Normaliser, softmax
from heedful.attention.relative import RelativePositions
from heedful.attention.scores import Score, scaled_dot
from heedful.attention.shapes import check_rank, check_width


class KeyValue(NamedTuple):
    """A memory as the heads see it."""

    key: Float[Tensor, "B H S E"]
    value: Float[Tensor, "B H S Ev"]

    @property
    def length(self) -> int:
        """S, the number of positions."""
        return self.key.shape[2]

    def append(self, new: "KeyValue") -> "KeyValue":
        """Return this memory with new positions appended."""
        return KeyValue(torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2))

    def reorder(self, rows: Int[Tensor, " N"]) -> "KeyValue":
        """Return the memories of these rows, in this order."""
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))


@final
class MultiHeadAttention(nn.Module):
    """Concat(head_1 .. head_H) W_O, head_i = Attention(x W_Q_i, memory W_K_i, memory W_V_i). [Vaswani 2017, 3.2.2]

    The H projections of each kind are one matrix, split after the product: the same map. `d_k` and `d_v` are d_model /
    H unless given. The paper has no biases. `score` and `normalise` fill the slots of `attend`; with the paper's two,
    the fused kernel is used when nobody asks for weights and it is the quicker one. Self-attention may be told how far
    keys stand from queries: the same `relative` positions then go to `project` and to `forward`.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        score: Score = scaled_dot,
        normalise: Normaliser = softmax,
    ) -> None:
        super().__init__()
        if (d_k is None or d_v is None) and d_model % n_heads:
            raise ValueError(f"`n_heads` must divide `d_model` ({d_model}), but is {n_heads}.")
        d_k, d_v = d_k or d_model // n_heads, d_v or d_model // n_heads
        self.d_model = d_model
        self.n_heads = n_heads
        self.dropout = dropout
        self.score = score
        self.normalise = normalise
        self.project_query = nn.Linear(d_model, n_heads * d_k, bias=bias)
        self.project_key = nn.Linear(d_model, n_heads * d_k, bias=bias)
        self.project_value = nn.Linear(d_model, n_heads * d_v, bias=bias)
        self.project_out = nn.Linear(n_heads * d_v, d_model, bias=bias)
        for projection in (self.project_query, self.project_key, self.project_value, self.project_out):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def project(
        self, memory: Float[Tensor, "B S D"], relative: RelativePositions | None = None, first: int = 0
    ) -> KeyValue:
        """Apply W_K and W_V to a memory: once, for any number of later queries.

        With `relative`, the keys are those at positions `first` and on, and so they stay when more are appended.
        """
        check_rank("memory", "[B S D]", memory)
        check_width("memory", memory, self.d_model, "d_model")
        key, value = self._split(self.project_key(memory)), self._split(self.project_value(memory))
        return KeyValue(key if relative is None else relative.rotate(key, first), value)

    def forward(
        self,
        query: Float[Tensor, "B T D"],
        key_value: KeyValue,
        mask: Mask | None = None,
        *,
        relative: RelativePositions | None = None,
        weights: bool = False,
        kernel: Callable[..., Attended] = quickest_attention,
    ) -> "MultiHeadOutput":
        """Read the memory for each query, by `kernel`. With `weights`, the explicit path is taken and they are
        returned. With `relative`, the queries stand at the last positions of the memory, or ValueError.
        """
        check_rank("query", "[B T D]", query)
        check_width("query", query, self.d_model, "d_model")
        if not isinstance(key_value, KeyValue):
            way = "such as attention(x, attention.project(x))"
            raise TypeError(f"`key_value` must be what `project` gives, {way}, but is a {type(key_value).__name__}.")
        heads = self._split(self.project_query(query))  # [B H T E]
        dropout = self.dropout if self.training else 0.0
        slots = {"score": self.score, "mask": mask, "normalise": self.normalise, "dropout": dropout}
        if relative is not None:
            n_queries, n_keys = heads.shape[2], key_value.length
            if n_queries > n_keys:
                raise ValueError(f"`relative` is of self-attention, but {n_queries} queries read {n_keys} keys.")
            heads = relative.rotate(heads, n_keys - n_queries)
            slots |= {"bias": relative.bias(heads, n_keys), "aggregate": relative.aggregate(n_queries, n_keys)}
        read = (attend if weights else kernel)(heads, key_value.key, key_value.value, **slots)
        return MultiHeadOutput(self.project_out(self._merge(read)), read.weights)

    def _split(self, projected: Float[Tensor, "B L HE"]) -> Float[Tensor, "B H L E"]:
        batch, length, width = projected.shape
        return projected.view(batch, length, self.n_heads, width // self.n_heads).transpose(1, 2)

    def _merge(self, read: Attended) -> Float[Tensor, "B T HE"]:
        return read.context.transpose(1, 2).flatten(2)


class MultiHeadOutput(NamedTuple):
    """The heads' contexts, joined and projected; `weights` (before dropout) only if asked for."""

    output: Float[Tensor, "B T D"]
    weights: Float[Tensor, "B H T S"] | None
