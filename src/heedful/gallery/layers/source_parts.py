"""The parts of a source, each of which ends at an EOS: the sentences of a document, a premise and a hypothesis.

Knows no text: which words stand between parts is the tokeniser's matter.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.text.vocabulary import EOS


class SourceParts(NamedTuple):
    """Positions of the N parts of each source, and of the at most W words of each, without the EOS that ends it."""

    positions: Int[Tensor, "B N W"]  # 0 where there is no word
    mask: Bool[Tensor, "B N W"]  # True at words
    ends: Int[Tensor, "B N"]  # where the EOS stands; 0 where there is no part
    real: Bool[Tensor, "B N"]  # True at parts

    def gather(self, x: Float[Tensor, "B S D"]) -> Float[Tensor, "B N W D"]:
        """Gather the vectors of each part; that of the first position where there is no word."""
        return x[torch.arange(len(x), device=x.device)[:, None, None], self.positions]

    def filled(self) -> "SourceParts":
        """Return the parts that have words, in their order."""
        filled = self.mask.any(dim=-1)
        order = (~filled).long().argsort(dim=1, stable=True)
        rows = torch.arange(len(order), device=order.device)[:, None]
        ends = torch.where(filled, self.ends, 0)
        return SourceParts(self.positions[rows, order], self.mask[rows, order], ends[rows, order], filled[rows, order])

    def spread_words(self, weights: Float[Tensor, "B N W"], length: int) -> Float[Tensor, "B S"]:
        """Lay weights of words where the words stand in a source of this length; 0 elsewhere."""
        spread = weights.new_zeros(len(weights), length)
        return spread.scatter_add(1, self.positions.flatten(1), (weights * self.mask).flatten(1))

    def spread_ends(self, weights: Float[Tensor, "B N"], length: int) -> Float[Tensor, "B S"]:
        """Lay weights of whole parts at the EOS that ends each; 0 elsewhere."""
        return weights.new_zeros(len(weights), length).scatter_add(1, self.ends, weights * self.real)


def parts_of(src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> SourceParts:
    """Find the parts of each source, empty ones too. Raises ValueError unless each source ends in EOS."""
    end = (src == EOS) & src_mask
    closed = end.cumsum(dim=1)
    number = closed - end.long()  # the part of each token, from 0
    if not closed[:, -1].all() or (src_mask & (number >= closed[:, -1:])).any():
        raise ValueError("`src` must end in EOS, in each row.")
    position = torch.arange(src.shape[1], device=src.device).expand_as(src)
    start = nn.functional.pad(torch.where(end, position + 1, 0), (1, 0))[:, :-1].cummax(dim=1).values
    word = src_mask & ~end
    within = position - start
    n_parts, width = int(closed[:, -1].max()), int(torch.where(word, within, 0).max()) + 1
    positions = src.new_zeros(len(src), n_parts, width)
    mask = torch.zeros_like(positions, dtype=torch.bool)
    rows, columns = word.nonzero(as_tuple=True)
    at = rows, number[word], within[word]
    positions[at], mask[at] = columns, True
    ends = src.new_zeros(len(src), n_parts)
    real = torch.zeros_like(ends, dtype=torch.bool)
    rows, columns = end.nonzero(as_tuple=True)
    ends[rows, number[end]], real[rows, number[end]] = columns, True
    return SourceParts(positions, mask, ends, real)


def story_error(source: Sequence[int]) -> str | None:
    """Say what is wrong with the ids (without the last EOS) of a story and a question; None if nothing is."""
    if EOS not in source:
        return "a story and a question are 2 parts or more, but here is 1"
    return "the last part is the question, but it is empty" if source[-1] == EOS else None
