"""Models without a network: tables of probabilities, which can be searched exhaustively."""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.decoding.search import Request
from heedful.models.interface import State
from heedful.text.vocabulary import EOS, PAD, UNK

A, B = 4, 5  # the two ordinary symbols
V = 6
SYMBOLS = (UNK, A, B)  # what an output may hold
Output = tuple[int, ...]


class TableState(State):
    """What each row has consumed: its sentence, and its tokens after BOS."""

    def __init__(self, sentences: Sequence[int], consumed: Sequence[Output] | None = None) -> None:
        self.sentences = list(sentences)
        self.consumed = [()] * len(self.sentences) if consumed is None else list(consumed)

    def reorder(self, rows: Tensor) -> "TableState":
        chosen = rows.tolist()
        return TableState([self.sentences[row] for row in chosen], [self.consumed[row] for row in chosen])


class Table:
    """Logits as a function of (sentence, output so far); counts its steps and their rows."""

    def __init__(self, logits: Callable[[int, Output], Tensor]) -> None:
        self.logits = logits
        self.rows: list[int] = []

    def start(self, n_sentences: int, beams: int) -> TableState:
        """The state before the first token."""
        return TableState([sentence for sentence in range(n_sentences) for _ in range(beams)])

    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, TableState]:
        """The first token of every row is BOS, which is not kept."""
        assert isinstance(state, TableState)
        first = not self.rows
        self.rows.append(len(tokens))
        consumed = [(*old, new) for old, new in zip(state.consumed, tokens.tolist(), strict=True)]
        after = TableState(state.sentences, consumed)
        assert not first or set(tokens.tolist()) == {2}
        rows = [self.logits(sentence, output[1:]) for sentence, output in zip(state.sentences, consumed, strict=True)]
        return torch.stack(rows), after

    def log_p(self, sentence: int, output: Output) -> float:
        """log p(output, EOS), in float64, with nothing shared with any search."""
        total = 0.0
        for position, token in enumerate((*output, EOS)):
            total += self.logits(sentence, output[:position]).double().log_softmax(-1)[token].item()
        return total


def random_table(seed: int, ends: float = 0.0) -> Table:
    """Every row of logits is drawn anew; `ends` is added to that of EOS. PAD and BOS are as likely as any."""

    def logits(sentence: int, output: Output) -> Tensor:
        chance = random.Random(f"{seed} {sentence} {output}")
        drawn = [chance.gauss(0, 2) for _ in range(V)]
        drawn[EOS] += ends
        return torch.tensor(drawn)

    return Table(logits)


def written_table(rows: Mapping[Output, Mapping[int, float]]) -> Table:
    """Probabilities by hand; what is not written is impossible, and an output that is not written ends."""

    def logits(_sentence: int, output: Output) -> Tensor:
        p = torch.zeros(V)
        for token, value in rows.get(output, {EOS: 1.0}).items():
            p[token] = value
        return p.log()

    return Table(logits)


class Found(NamedTuple):
    """An output and its two measures."""

    ids: Output
    log_p: float
    score: float


def exhaustive(table: Table, sentence: int, request: Request, alpha: float) -> list[Found]:
    """Every possible output with its score by [Wu 2016, Eq. 14], best first."""
    prefix = tuple(request.prefix)
    found = []
    for length in range(request.max_length + 1):
        for output in itertools.product(SYMBOLS, repeat=length):
            if output[: len(prefix)] == prefix:
                log_p = table.log_p(sentence, output)
                found.append(Found(output, log_p, log_p / ((5 + length + 1) / 6) ** alpha))
    return sorted(found, key=lambda one: -one.score)


def plain_beam(table: Table, sentence: int, request: Request, beam: int) -> list[Output]:
    """Beam search for one sentence with lists: what ends takes its beam with it. In the order of ending."""
    unfinished: list[tuple[float, Output]] = [(0.0, ())]
    ended: list[Output] = []
    while unfinished:
        longer: list[tuple[float, Output]] = []
        for log_p, output in unfinished:
            row = table.logits(sentence, output).double().log_softmax(-1)
            for token in range(V):
                allowed = token not in (PAD, 2)
                if len(output) < len(request.prefix):
                    allowed = token == request.prefix[len(output)]
                elif len(output) == request.max_length:
                    allowed = token == EOS
                if allowed:
                    longer.append((log_p + row[token].item(), (*output, token)))
        longer.sort(key=lambda one: -one[0])
        kept = longer[: beam - len(ended)]
        ended += [output[:-1] for _, output in kept if output[-1] == EOS]
        unfinished = [one for one in kept if one[1][-1] != EOS]
    return ended
