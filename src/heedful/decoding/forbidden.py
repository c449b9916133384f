"""Tokens that may not follow: those that complete a forbidden text, or an n-gram that the output already contains.

Knows ids and the parts of their pieces, no model. N rows, S states, V vocabulary, t tokens so far.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.decoding.search import FREE, NEVER, Request
from heedful.text.interface import Tokenizer
from heedful.text.normalise import BLANK_PIECE
from heedful.text.vocabulary import SPECIALS, UNK

BANNED = -1  # in an automaton: this token would complete a forbidden text
START = 0


class PieceParts(NamedTuple):
    """Numbered units (such as characters) of every piece; a text has the same units however it is segmented."""

    numbers: dict[str, int]
    of_token: np.ndarray  # [V W], padded with -1


def units_of(tokenizer: Tokenizer) -> PieceParts:
    """Split every piece of a tokeniser into its parts; special ids have none, but UNK is one."""
    pieces = [
        [] if index < len(SPECIALS) else tokenizer.units(tokenizer.piece(index)) for index in range(len(tokenizer))
    ]
    pieces[UNK] = [tokenizer.piece(UNK)]
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(unit, len(numbers)) for unit in piece] for piece in pieces]
    table = np.full((len(rows), max(map(len, rows))), -1, np.int32)
    for row, units in enumerate(rows):
        table[row, : len(units)] = units
    return PieceParts(numbers, table)


def forbidding(texts: Sequence[str], tokenizer: Tokenizer, units: PieceParts) -> Int[Tensor, "S V"]:
    """Build the automaton that matches the texts in an output: which token would complete one of them. [Aho 1975]

    Entry [s, v] is the state after token v in state s, or BANNED. A text is matched from the beginning of a word (or
    symbol), as the tokeniser reads it, and in every segmentation into pieces.
    """
    phrases = [tuple(unit for piece in tokenizer.pieces(text) for unit in tokenizer.units(piece)) for text in texts]
    alphabet = sorted({unit for phrase in phrases for unit in phrase})
    begins = sorted({phrase[:n] for phrase in phrases for n in range(len(phrase))}, key=lambda one: (len(one), one))
    if any(phrase[0] == BLANK_PIECE and not text[:1].isspace() for text, phrase in zip(texts, phrases, strict=True)):
        opened = begins.index((BLANK_PIECE,))  # the tokeniser reads a text as if a blank stood before it
        begins.insert(START, begins.pop(opened))
    steps = np.array([[_step((*begin, unit), phrases, begins) for unit in alphabet] for begin in begins], np.int32)
    root = begins.index(())
    wide = np.column_stack([steps, np.full(len(begins), root)])  # the last column: any unit of no phrase
    letter = np.full(len(units.numbers), len(alphabet))
    for column, unit in enumerate(alphabet):
        if unit in units.numbers:
            letter[units.numbers[unit]] = column
    table = np.repeat(np.arange(len(begins))[:, None], len(units.of_token), axis=1)
    for column in units.of_token.T:
        matching = (column >= 0)[None, :] & (table != BANNED)
        table = np.where(matching, wide[table, letter[column]], table)
    return torch.from_numpy(table)


def _step(read: tuple[str, ...], phrases: Sequence[tuple[str, ...]], begins: list[tuple[str, ...]]) -> int:
    """Return the state after these units: BANNED at the end of a phrase, else the longest suffix that begins one."""
    if any(read[-len(phrase) :] == phrase for phrase in phrases):
        return BANNED
    return next(begins.index(read[start:]) for start in range(len(read) + 1) if read[start:] in begins)


class ForbiddenTokens(NamedTuple):
    """State of the forbidden texts and n-grams of each row."""

    automata: Int[Tensor, "S V"] | None  # of all requests, concatenated along S
    state: Int[Tensor, " N"]
    orders: Int[Tensor, " N"]  # of the n-grams that may not repeat; 0 is off
    tokens: Int[Tensor, "N t"]

    @classmethod
    def of(cls, requests: Sequence[Request], beams: int, device: torch.device) -> "ForbiddenTokens | None":
        """Make the state before the first token, for `beams` rows a request; None where nothing is forbidden."""
        if all(request.forbidden is None and not request.no_repeat for request in requests):
            return None
        given = {id(request.forbidden): request.forbidden for request in requests if request.forbidden is not None}
        starts: dict[int, int] = {}
        parts, size = [], 0
        if given:
            width = next(iter(given.values())).shape[1]
            parts.append(torch.zeros(1, width, dtype=torch.long))  # the state of rows without forbidden texts
            size = 1
        for key, table in given.items():
            starts[key] = size
            parts.append(torch.where(table == BANNED, BANNED, table + size))
            size += len(table)
        state = torch.tensor([starts.get(id(r.forbidden), 0) for r in requests], dtype=torch.long, device=device)
        orders = torch.tensor([r.no_repeat for r in requests], dtype=torch.long, device=device)
        automata = torch.cat(parts).to(device) if parts else None
        nothing = torch.empty(len(requests) * beams, 0, dtype=torch.long, device=device)
        return cls(automata, state.repeat_interleave(beams), orders.repeat_interleave(beams), nothing)

    def apply(self, log_p: Float[Tensor, "N V"], forced: Sequence[int] | None) -> Float[Tensor, "N V"]:
        """Set forbidden tokens to -inf; a row whose next id is forced stays as it is."""
        vetoed = torch.zeros_like(log_p, dtype=torch.bool)
        if self.automata is not None:
            vetoed |= self.automata[self.state] == BANNED
        for order in set(self.orders.tolist()) - {0}:
            vetoed |= self._repeating(order, log_p.shape[1])
        if forced is not None:
            vetoed &= torch.tensor(forced, device=log_p.device)[:, None] == FREE
        return log_p.masked_fill(vetoed, NEVER)

    def after(self, rows: Int[Tensor, " M"], tokens: Int[Tensor, " M"]) -> "ForbiddenTokens":
        """Return the state of these rows, each with one more token."""
        state = self.state[rows]
        if self.automata is not None:
            state = self.automata[state, tokens].clamp(min=0)  # the tokens of a beam without a hypothesis are arbitrary
        return ForbiddenTokens(
            self.automata, state, self.orders[rows], torch.cat([self.tokens[rows], tokens[:, None]], dim=1)
        )

    def keep(self, rows: list[int]) -> "ForbiddenTokens":
        """Return the state of these rows only."""
        return ForbiddenTokens(self.automata, self.state[rows], self.orders[rows], self.tokens[rows])

    def _repeating(self, order: int, n_symbols: int) -> Bool[Tensor, "N V"]:
        """Mark the tokens that would repeat an n-gram of this order. [Paulus 2018, 2.5]"""
        vetoed = torch.zeros(len(self.tokens), n_symbols, dtype=torch.bool, device=self.tokens.device)
        if self.tokens.shape[1] < order:
            return vetoed
        begun = self.tokens[:, self.tokens.shape[1] - order + 1 :]  # [N order-1]
        seen = self.tokens.unfold(1, order, 1)  # [N windows order]
        again = (seen[:, :, :-1] == begun[:, None]).all(-1) & (self.orders == order)[:, None]
        return vetoed.scatter_reduce_(1, seen[:, :, -1], again, "amax")
