"""Readings of more than one `attend`: hops over a memory, and sequences that read each other. Knows no words."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention.core import Attended, attend
from heedful.attention.masks import Mask
from heedful.attention.multihead import KeyValue
from heedful.attention.normalise import softmax
from heedful.attention.scores import dot

Update = Literal["add", "add-linear", "concat-linear"]


class HopsRead(NamedTuple):
    """The last query, and the reading of each hop."""

    query: Float[Tensor, "B H T E"]
    hops: list[Attended]


@final
class Hops(nn.Module):
    """o = sum_i softmax(u . m_i) c_i, and u becomes an update of u and o, hop after hop. [Sukhbaatar 2015, 2.1, 2.2]

    "add": u + o (there). "add-linear": R_j (u + o), R_j one matrix a hop [Miller 2016, 3.1]. "concat-linear":
    W_j [u; o], since joining alone would double the width at each hop.
    """

    def __init__(self, width: int, n_hops: int, update: Update = "add") -> None:
        super().__init__()
        self.n_hops = n_hops
        self.update: Update = update
        inputs = {"add": 0, "add-linear": width, "concat-linear": 2 * width}[update]
        self.linear = nn.ModuleList(nn.Linear(inputs, width, bias=False) for _ in range(n_hops if inputs else 0))

    def forward(
        self, query: Float[Tensor, "B H T E"], memories: Sequence[KeyValue], mask: Mask | None = None
    ) -> HopsRead:
        """Read in hops; `memories` are the memory as each hop sees it (its embeddings A and C), or one for all hops."""
        if len(memories) not in (1, self.n_hops):
            raise ValueError(f"`memories` must be 1 or {self.n_hops}, one for each hop, but are {len(memories)}.")
        hops: list[Attended] = []
        for hop in range(self.n_hops):
            memory = memories[hop % len(memories)]
            read = attend(query, memory.key, memory.value, score=dot, mask=mask)
            query = self._updated(hop, query, read.context)
            hops.append(read)
        return HopsRead(query, hops)

    def _updated(self, hop: int, query: Tensor, context: Tensor) -> Tensor:
        if self.update == "add":
            return query + context
        if self.update == "add-linear":
            return self.linear[hop](query + context)
        return self.linear[hop](torch.cat([query, context], dim=-1))


class Alignment(NamedTuple):
    """Vectors that each position of two sequences reads of the other one."""

    left: Attended
    right: Attended


def align_both_ways(
    left: Float[Tensor, "B H T E"],
    right: Float[Tensor, "B H S E"],
    left_mask: Mask | None = None,
    right_mask: Mask | None = None,
) -> Alignment:
    """Compute a~_i = sum_j softmax_j(a_i . b_j) b_j, and b~_j = sum_i softmax_i(a_i . b_j) a_i. [Chen 2017, Eq. 11-13]

    The masks are key paddings: `left_mask` hides positions of `left` from `right`, and the other way about.
    """
    seen_by_left = attend(left, right, right, score=dot, mask=right_mask)
    return Alignment(seen_by_left, attend(right, left, left, score=dot, mask=left_mask))


def attention_over_attention(
    document: Float[Tensor, "B S E"],
    query: Float[Tensor, "B T E"],
    document_mask: Mask | None = None,
    query_mask: Mask | None = None,
) -> Float[Tensor, "B S"]:
    """Compute s = alpha beta: how much each position of the document answers the query; sums to 1. [Cui 2017, Eq. 5-9]

    alpha(t) is the softmax over positions for query word t; beta the mean of the softmax over words.
    """
    scores = dot(query[:, None], document[:, None])  # [B 1 T S]
    alpha = softmax(scores, document_mask)
    beta = softmax(scores.mT, query_mask)  # [B 1 S T]
    if document_mask is not None:
        real = document_mask.visible.mT.to(beta.dtype).expand(*beta.shape[:3], 1)  # [B 1 S 1]
        mean = (beta * real).sum(dim=2) / real.sum(dim=2).clamp(min=1)
    else:
        mean = beta.mean(dim=2)
    return (mean[..., None, :] @ alpha)[:, 0, 0]
