"""A Seq2Seq without a network: probabilities of the next token as a rule says, for sources that are one number."""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.models.interface import Memory, Seq2Seq, State

A, B, C, D = 4, 5, 6, 7
V = 8
Rule = Callable[[int, tuple[int, ...]], Mapping[int, float]]
"""From the source's number and the tokens read after BOS: probabilities of the next token; all others have none."""


class Told(Seq2Seq):
    """The source is [A + number]; what is encoded is that number."""

    def __init__(self, rule: Rule) -> None:
        super().__init__()
        self.rule, self.output_bias = rule, None
        self.output = nn.Parameter(torch.eye(V))

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Memory:
        return Memory((src[:, :, None] - A).float().expand(-1, -1, V), src_mask)

    def decode(self, memory: Memory, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        rows = zip(_numbers(memory), tgt_in.tolist(), strict=True)
        return torch.stack(
            [torch.stack([self.row(number, row[1 : t + 1]) for t in range(len(row))]) for number, row in rows]
        )

    def start(self, memory: Memory, beams: int) -> "ToldState":
        return ToldState([number for number in _numbers(memory) for _ in range(beams)], None)

    def step(self, state: State, tokens: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N D"], "ToldState"]:
        assert isinstance(state, ToldState)
        read = [()] * len(tokens) if state.read is None else state.read
        read = [(*old, new) for old, new in zip(read, tokens.tolist(), strict=True)]
        hidden = torch.stack([self.row(number, row[1:]) for number, row in zip(state.numbers, read, strict=True)])
        return hidden, ToldState(state.numbers, read)

    def output_weight(self) -> Float[Tensor, "V D"]:
        return self.output

    def row(self, number: int, read: Sequence[int]) -> Tensor:
        """Logits; a probability of 0 is made 1e-30."""
        told = self.rule(number, tuple(read))
        return torch.tensor([max(told.get(token, 0.0), 1e-30) for token in range(V)]).log()


class ToldState(State):
    """What each row has consumed, BOS included."""

    def __init__(self, numbers: list[int], read: list[tuple[int, ...]] | None) -> None:
        self.numbers, self.read = numbers, read

    def reorder(self, rows: Int[Tensor, " N"]) -> "ToldState":
        chosen = rows.tolist()
        read = None if self.read is None else [self.read[row] for row in chosen]
        return ToldState([self.numbers[row] for row in chosen], read)


def _numbers(memory: Memory) -> list[int]:
    return [round(value) for value in memory.values[:, 0, 0].tolist()]
