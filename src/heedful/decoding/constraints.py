"""Lexically constrained decoding: phrases that an output must contain, by dynamic beam allocation.

Knows ids and scores, no model and no text. B sentences, K beams, V vocabulary, P phrases of at most L ids, A ids that
occur in some phrase, C candidates.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.decoding.search import FREE, NEVER, BeamSelection, Request, most_probable
from heedful.text.vocabulary import EOS

MOST_PHRASES = 10  # of one sentence; the exact number of tokens still needed takes all their subsets, 2^P
Phrase = tuple[int, ...]


class PhrasePlan(NamedTuple):
    """Automata of the phrases of one sentence. A phrase that is part of another one has none of its own."""

    phrases: list[Phrase]
    alphabet: list[int]  # the ids in the phrases
    following: list[
        list[list[int]]
    ]  # [P, at most L + 1, A + 1]: the position after an id; the last column is any other id
    rest: list[list[int]]  # [P, 2^P]: the fewest tokens that complete a set of phrases, just after phrase p

    def needed(self, positions: Sequence[int]) -> int:
        """Return the fewest tokens that complete all phrases from these positions."""
        unmet = [p for p, at in enumerate(positions) if at < len(self.phrases[p])]
        every = sum(1 << p for p in unmet)
        return min((len(self.phrases[p]) - positions[p] + self.rest[p][every ^ (1 << p)] for p in unmet), default=0)

    def advance(self, positions: Sequence[int], token: int) -> list[int]:
        """Return the positions after one more token."""
        symbol = self.alphabet.index(token) if token in self.alphabet else len(self.alphabet)
        return [table[at][symbol] for table, at in zip(self.following, positions, strict=True)]


def plan(phrases: Sequence[Sequence[int]]) -> PhrasePlan:
    """Build the automata of phrases, none of them empty. Raises ValueError for more than MOST_PHRASES."""
    different = sorted(set(map(tuple, phrases)), key=lambda phrase: (len(phrase), phrase))
    kept = [one for n, one in enumerate(different) if not any(_inside(one, other) for other in different[n + 1 :])]
    if len(kept) > MOST_PHRASES:
        raise ValueError(f"`phrases` may hold at most {MOST_PHRASES} different ones, but holds {len(kept)}.")
    alphabet = sorted({token for phrase in kept for token in phrase})
    following = [_automaton(phrase, alphabet) for phrase in kept]
    return PhrasePlan(kept, alphabet, following, _shortest(kept))


def fewest_tokens(required: Sequence[Sequence[int]], prefix: Sequence[int] = ()) -> int:
    """Return the length of the shortest output that begins with the prefix and contains all phrases."""
    automata = plan(required)
    positions = [0] * len(automata.phrases)
    for token in prefix:
        positions = automata.advance(positions, token)
    return len(prefix) + automata.needed(positions)


class PhraseBanks(NamedTuple):
    """State of constrained search: how many tokens of each phrase each beam has met.

    A position is the length of the longest suffix of the output that is a prefix of the phrase [Knuth 1977]; once the
    phrase is complete, it stays at the phrase's length.
    """

    phrases: Int[Tensor, "B P L"]  # padded with -1
    lengths: Int[Tensor, "B P"]  # 0 where a sentence has fewer phrases
    alphabet: Int[Tensor, "B A"]  # padded with -1
    following: Int[Tensor, "B P L1 A1"]
    rest: Int[Tensor, "B P R"]
    longest: Int[Tensor, " B"]
    positions: Int[Tensor, "B K P"]

    @classmethod
    def of(cls, requests: Sequence[Request], beams: int, device: torch.device) -> "PhraseBanks | None":
        """Make the state before the first token; None where no request has a phrase."""
        if not any(request.required for request in requests):
            return None
        plans = [plan(request.required) for request in requests]
        n_phrases = max(len(one.phrases) for one in plans)
        longest = max(len(phrase) for one in plans for phrase in one.phrases)
        n_ids = max(len(one.alphabet) for one in plans)
        n = len(plans)
        phrases = torch.full((n, n_phrases, longest), -1)
        lengths = torch.zeros(n, n_phrases, dtype=torch.long)
        alphabet = torch.full((n, n_ids), -1)
        following = torch.zeros(n, n_phrases, longest + 1, n_ids + 1, dtype=torch.long)
        rest = torch.zeros(n, n_phrases, 1 << n_phrases, dtype=torch.long)
        for row, one in enumerate(plans):
            alphabet[row, : len(one.alphabet)] = torch.tensor(one.alphabet)
            for p, phrase in enumerate(one.phrases):
                table = torch.tensor(one.following[p])
                phrases[row, p, : len(phrase)] = torch.tensor(phrase)
                lengths[row, p] = len(phrase)
                following[row, p, : len(table), : table.shape[1] - 1] = table[:, :-1]
                following[row, p, len(phrase)] = len(phrase)
                rest[row, p, : len(one.rest[p])] = torch.tensor(one.rest[p])
        most = torch.tensor([request.max_length for request in requests])
        at = torch.zeros(n, beams, n_phrases, dtype=torch.long)
        return cls(*(part.to(device) for part in (phrases, lengths, alphabet, following, rest, most, at)))

    def choose(
        self, log_p: Float[Tensor, "N V"], so_far: Float[Tensor, "B K"], forced: Sequence[int] | None, position: int
    ) -> "tuple[BeamSelection, PhraseBanks]":
        """Allocate the K beams to the banks; return the selected continuations and the state after them.

        Candidates are the K best continuations of all beams, the best one of each beam, and those by the next id of an
        incomplete phrase. Bank c has the candidates that have met c ids of phrases; beams go to the banks in turn, that
        with the most ids first, and within a bank to the most probable. A candidate is dropped if its phrases cannot be
        completed within the maximum length, and EOS before all are complete, so that every finished hypothesis contains
        them. [Post and Vilar 2018, 3; Hu 2019, 3.2]
        """
        beams, n_symbols = so_far.shape[1], log_p.shape[1]
        log_p = _alone(log_p, forced).view(-1, beams, n_symbols)
        totals = log_p + so_far[:, :, None]
        complete = (self.positions == self.lengths[:, None]).all(-1)  # [B K]
        totals[:, :, EOS] = totals[:, :, EOS].masked_fill(~complete, NEVER)
        flat = self._candidates(totals)
        scores = totals.flatten(1).gather(1, flat)
        scores[:, 1:].masked_fill_(flat[:, 1:] == flat[:, :-1], NEVER)  # the same candidate twice
        positions = self._after(flat // n_symbols, flat % n_symbols)
        left = (self.longest - position - 1).clamp(min=0)
        scores = scores.masked_fill(self._needed(positions) > left[:, None], NEVER)
        turn = _turns(scores, positions.sum(-1), int(self.lengths.sum(-1).max()))[:, :beams]  # [B K]
        chosen = positions.gather(1, turn[:, :, None].expand(-1, -1, positions.shape[2]))
        flat = flat.gather(1, turn)
        gained = log_p.flatten(1).gather(1, flat)
        after = BeamSelection(flat // n_symbols, flat % n_symbols, gained, scores.gather(1, turn))
        return after, self._replace(positions=chosen)

    def keep(self, rows: list[int]) -> "PhraseBanks":
        """Return the state of these sentences only."""
        return PhraseBanks(*(part[rows] for part in self))

    def _candidates(self, totals: Float[Tensor, "B K V"]) -> Int[Tensor, "B C"]:
        """Return the candidates as indices into K * V, in ascending order; some may occur twice."""
        _, beams, n_symbols = totals.shape
        base = torch.arange(beams, device=totals.device) * n_symbols  # [K]
        best = most_probable(totals.flatten(1), beams).ids
        of_each = totals.argmax(dim=2) + base
        at = self.positions.clamp(max=self.phrases.shape[2] - 1)  # [B K P]
        wanted = self.phrases[:, None].expand(-1, beams, -1, -1).gather(3, at[..., None])[..., 0]
        going = torch.where(self.positions < self.lengths[:, None], wanted, totals.argmax(dim=2)[:, :, None])
        return torch.cat([best, of_each, (going + base[:, None]).flatten(1)], dim=1).sort(dim=1).values

    def _after(self, sources: Int[Tensor, "B C"], tokens: Int[Tensor, "B C"]) -> Int[Tensor, "B C P"]:
        """Return the position of each candidate in each phrase."""
        n, n_phrases = self.lengths.shape
        known = tokens[:, :, None] == self.alphabet[:, None]  # [B C A]
        symbol = torch.where(known.any(-1), known.int().argmax(-1), self.alphabet.shape[1])  # [B C]
        before = self.positions.gather(1, sources[:, :, None].expand(-1, -1, n_phrases))  # [B C P]
        sentence = torch.arange(n, device=tokens.device)[:, None, None]
        phrase = torch.arange(n_phrases, device=tokens.device)
        return self.following[sentence, phrase, before, symbol[:, :, None]]

    def _needed(self, positions: Int[Tensor, "B C P"]) -> Int[Tensor, "B C"]:
        """Compute `PhrasePlan.needed` for all candidates."""
        n, n_phrases = self.lengths.shape
        unmet = positions < self.lengths[:, None]
        bit = 1 << torch.arange(n_phrases, device=positions.device)
        others = (unmet * bit).sum(-1, keepdim=True) - unmet * bit  # [B C P]
        sentence = torch.arange(n, device=positions.device)[:, None, None]
        rest = self.rest[sentence, torch.arange(n_phrases, device=positions.device), others]
        tokens = self.lengths[:, None] - positions + rest
        most = torch.iinfo(torch.long).max
        fewest = torch.where(unmet, tokens, most).amin(-1)
        return torch.where(unmet.any(-1), fewest, 0)


def _alone(log_p: Float[Tensor, "N V"], forced: Sequence[int] | None) -> Float[Tensor, "N V"]:
    """Set all but the forced id to -inf, on rows where one is forced."""
    if forced is None:
        return log_p
    wanted = torch.tensor(forced, device=log_p.device)[:, None]
    return log_p.masked_fill((wanted != FREE) & (torch.arange(log_p.shape[1], device=log_p.device) != wanted), NEVER)


def _turns(scores: Float[Tensor, "B C"], bank: Int[Tensor, "B C"], fullest: int) -> Int[Tensor, "B C"]:
    """Order the candidates for the beams: the best of each bank, then the second best of each, ..."""
    order = scores.sort(dim=1, descending=True, stable=True).indices
    in_bank = torch.nn.functional.one_hot(bank.gather(1, order), fullest + 1)  # [B C banks]
    rank = (in_bank.cumsum(1) * in_bank).sum(-1)  # within its bank, from 1
    turn = rank * (fullest + 1) - bank.gather(1, order)
    turn = torch.where(scores.gather(1, order) > NEVER, turn, torch.iinfo(torch.long).max)
    return order.gather(1, turn.sort(dim=1, stable=True).indices)


def _inside(phrase: Phrase, other: Phrase) -> bool:
    return any(other[start : start + len(phrase)] == phrase for start in range(len(other) - len(phrase) + 1))


def _overlap(left: Sequence[int], right: Phrase) -> int:
    """Return the length of the longest suffix of `left` that is a prefix of `right`."""
    longest = min(len(left), len(right))
    return next(n for n in range(longest, -1, -1) if tuple(left[len(left) - n :]) == right[:n])


def _automaton(phrase: Phrase, alphabet: Sequence[int]) -> list[list[int]]:
    table = [[_overlap((*phrase[:at], token), phrase) for token in alphabet] + [0] for at in range(len(phrase))]
    return [*table, [len(phrase)] * (len(alphabet) + 1)]


def _shortest(phrases: Sequence[Phrase]) -> list[list[int]]:
    """Compute [p][set]: the fewest tokens that complete a set of phrases after phrase p: a shortest common superstring.

    No phrase is part of another, so after p the position in q is their overlap, and the phrases end one by one.
    """
    new = [[len(q) - _overlap(p, q) for q in phrases] for p in phrases]

    @cache
    def rest(last: int, unmet: int) -> int:
        following = [q for q in range(len(phrases)) if unmet >> q & 1]
        return min((new[last][q] + rest(q, unmet ^ (1 << q)) for q in following), default=0)

    return [
        [rest(p, unmet) if not unmet >> p & 1 else 0 for unmet in range(1 << len(phrases))] for p in range(len(phrases))
    ]
