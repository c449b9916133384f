"""Reading with a learned constant query: one vector, or a few, of a whole sequence. Knows no layers around it."""

from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention.aggregate import Aggregate, weighted_sum
from heedful.attention.core import attend
from heedful.attention.masks import Mask
from heedful.attention.normalise import Normaliser, softmax
from heedful.attention.scores import dot


class Pooled(NamedTuple):
    """R vectors of each sequence and the weights that made them."""

    vectors: Float[Tensor, "B R C"]
    weights: Float[Tensor, "B R S"]


@final
class Pooling(nn.Module):
    """softmax_s(u_r . tanh(W h_s + b)), R constant queries u. [Yang 2016, Eq. 5-7: R = 1; Lin 2017, Eq. 6: no bias]

    With `aggregate=GatherTop(n)` it gives the n heaviest vectors instead of their sum.
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        n_rows: int = 1,
        *,
        bias: bool = True,
        normalise: Normaliser = softmax,
        aggregate: Aggregate = weighted_sum,
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden, bias=bias)
        self.queries = nn.Parameter(torch.empty(n_rows, hidden))
        nn.init.normal_(self.queries, std=hidden**-0.5)
        self.normalise = normalise
        self.aggregate = aggregate

    def forward(self, h: Float[Tensor, "B S D"], mask: Mask | None = None) -> Pooled:
        queries = self.queries.expand(len(h), 1, -1, -1)
        slots = {"score": dot, "mask": mask, "normalise": self.normalise, "aggregate": self.aggregate}
        vectors, weights = attend(queries, torch.tanh(self.inner(h))[:, None], h[:, None], **slots)
        assert weights is not None
        return Pooled(vectors[:, 0], weights[:, 0])


def overlap_penalty(weights: Float[Tensor, "B R S"]) -> Float[Tensor, " B"]:
    """Compute |A A^T - I|^2 (squared Frobenius norm) of each sequence: 0 if each row reads a different single position.
    [Lin 2017, Eq. 8]
    """
    product = dot(weights[:, None], weights[:, None])[:, 0]  # [B R R]
    return (product - torch.eye(product.shape[-1], device=product.device)).square().sum(dim=(1, 2))
