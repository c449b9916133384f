"""Tokens to vectors, and the matrix that may be shared with the output. Knows no positions."""

from typing import Literal, NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@final
class Embedding(nn.Module):
    """Rows of E [V D], multiplied by sqrt(d_model) if `scaled`. [Vaswani 2017, 3.4]

    Rows start as normal with variance 1 / d_model, so that a scaled embedding starts at unit variance, like the
    positions. The same matrix, transposed, gives the logits h E^T where it is tied to the output.
    """

    def __init__(self, n_symbols: int, d_model: int, *, scaled: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_symbols, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)
        self.scale = d_model**0.5 if scaled else 1.0

    def forward(self, ids: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape D"]:
        return nn.functional.embedding(ids, self.weight) * self.scale


class Embeddings(NamedTuple):
    """The matrices of both sides and of the output: one, two or three."""

    target: Embedding
    source: Embedding
    output: Embedding


def embeddings(
    source_size: int, target_size: int, d_model: int, tie: Literal["none", "decoder", "all"], *, scaled: bool
) -> Embeddings:
    """Make the embeddings of both sides and the matrix before the softmax; `tie` says which of them are shared. [Press
    2017]

    Raises ValueError where two vocabularies of different sizes would share one.
    """
    if tie == "all" and source_size != target_size:
        raise ValueError(
            f'`tie` = "all" shares one matrix, but the vocabularies have {source_size} and {target_size} entries: '
            'use a joint tokenizer, or tie = "decoder".'
        )
    target = Embedding(target_size, d_model, scaled=scaled)
    source = target if tie == "all" else Embedding(source_size, d_model, scaled=scaled)
    output = target if tie != "none" else Embedding(target_size, d_model, scaled=False)
    return Embeddings(target, source, output)
