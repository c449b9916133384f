"""Beam search over a batch of sentences. It knows no model: only a step function, and a state that can be reordered.

Each sentence has K beams, its K best unfinished hypotheses. Each step extends them by one token and keeps the best
continuations. A continuation that ends in EOS is a finished hypothesis and gives up its beam, so that K hypotheses are
found in all, and K = 1 is greedy search. A sentence leaves the batch when no beam remains, or as soon as no unfinished
hypothesis can still score higher than the `n_best` finished ones.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.decoding.constraints import PhraseBanks
from heedful.decoding.forbidden import ForbiddenTokens
from heedful.decoding.search import (
    NEVER,
    BeamSelection,
    Continuations,
    ForcedTokens,
    Hypothesis,
    Request,
    Step,
    continuations,
    length_penalty,
    log_probabilities,
)
from heedful.models.interface import State
from heedful.text.vocabulary import BOS, EOS


class BeamState(NamedTuple):
    """Unfinished hypotheses of the sentences still in the batch: B sentences, K beams, t tokens so far."""

    sentences: list[int]  # index of the request of each of the B sentences
    tokens: Tensor  # [B K t] ids of the partial outputs
    token_log_p: Tensor  # [B K t] log-probability of each of these tokens
    log_p: Tensor  # [B K] their sums; -inf where the hypothesis is finished
    remaining: Tensor  # [B] beams not yet given up: hypotheses that are still to be found
    threshold: Tensor  # [B] score of the n_best-th finished hypothesis; -inf while there are fewer
    largest_penalty: Tensor  # [B] the length penalty of an output of the maximum length
    banks: PhraseBanks | None  # progress through required phrases
    forbidden: ForbiddenTokens | None  # tokens that may not follow

    def only(self, rows: list[int]) -> "BeamState":
        """Return the state of these of the B sentences."""
        beams = [row * self.log_p.shape[1] + beam for row in rows for beam in range(self.log_p.shape[1])]
        rules = self.banks and self.banks.keep(rows), self.forbidden and self.forbidden.keep(beams)
        return BeamState._make([[self.sentences[row] for row in rows], *(part[rows] for part in self[1:7]), *rules])


def beam_search(
    step: Step, state: State, requests: Sequence[Request], *, beam: int, alpha: float, n_best: int = 1
) -> list[list[Hypothesis]]:
    """Find the `n_best` best finished hypotheses of each sentence, best first, ranked by log p / length_penalty.

    `state` has `beam` rows a sentence. At `max_length` only EOS may follow, so every hypothesis is finished by then.
    Raises ValueError if n_best > beam.
    """
    if n_best > beam:
        raise ValueError(f"`n_best` must be at most `beam` ({beam}), but is {n_best}.")
    finished: list[list[Hypothesis]] = [[] for _ in requests]
    forcing = ForcedTokens(requests)
    current = _begin(requests, beam, alpha, state.device)
    tokens = torch.full((len(requests) * beam,), BOS, device=state.device)
    identity = torch.arange(beam, device=state.device)
    while current.sentences:
        logits, state = step(state, tokens)
        sources, current = _extend(logits, current, forcing, beam)
        current = _finish(current, finished, alpha, n_best)
        keep = _unfinished(current)
        if len(keep) < len(current.sentences):
            current = current.only(keep)
            kept = torch.tensor(keep, dtype=torch.long, device=sources.device)
            sources = sources[kept]
            state = state.reorder((kept[:, None] * beam + sources).flatten()) if keep else state
        elif not torch.equal(sources, identity.expand_as(sources)):
            state = state.reorder(
                (torch.arange(0, sources.numel(), beam, device=sources.device)[:, None] + sources).flatten()
            )
        tokens = current.tokens[:, :, -1].flatten()
    return [sorted(hypotheses, key=lambda h: -h.score)[:n_best] for hypotheses in finished]


def _begin(requests: Sequence[Request], beam: int, alpha: float, device: torch.device) -> BeamState:
    """Make the state before the first token: one empty hypothesis a sentence; the other beams follow from it."""
    log_p = torch.full((len(requests), beam), NEVER, device=device)
    log_p[:, :1] = 0.0
    empty = log_p.new_empty(len(requests), beam, 0)
    threshold = torch.full((len(requests),), NEVER, dtype=torch.float64, device=device)
    remaining = torch.full((len(requests),), beam, device=device)
    lengths = torch.tensor([request.max_length + 1 for request in requests], dtype=torch.float64, device=device)
    largest_penalty = torch.as_tensor(length_penalty(lengths, alpha))
    banks, forbidden = PhraseBanks.of(requests, beam, device), ForbiddenTokens.of(requests, beam, device)
    sentences = list(range(len(requests)))
    return BeamState(sentences, empty.long(), empty, log_p, remaining, threshold, largest_penalty, banks, forbidden)


def _extend(logits: Tensor, current: BeamState, forcing: ForcedTokens, beam: int) -> tuple[Tensor, BeamState]:
    """Return the beams [B K] that the `beam` best continuations of each sentence extend, and the state after them.

    These are among the `beam` best continuations of each row, so that log p is the only new tensor of shape [N V].
    """
    forced = forcing.at(current.tokens.shape[2], current.sentences)
    forced_of_row = None if forced is None else [wanted for wanted in forced for _ in range(beam)]
    log_p = log_probabilities(logits)
    if current.forbidden is not None:
        log_p = current.forbidden.apply(log_p, forced_of_row)
    if current.banks is None:
        chosen, banks = _best(continuations(log_p, beam, forced_of_row), current), None
    else:
        chosen, banks = current.banks.choose(log_p, current.log_p, forced_of_row, current.tokens.shape[2])
    index = chosen.sources[:, :, None].expand(-1, -1, current.tokens.shape[2])
    tokens = torch.cat([current.tokens.gather(1, index), chosen.ids[:, :, None]], dim=2)
    token_log_p = torch.cat([current.token_log_p.gather(1, index), chosen.log_p[:, :, None]], dim=2)
    first = torch.arange(0, current.log_p.numel(), beam, device=index.device)[:, None]
    forbidden = current.forbidden and current.forbidden.after((first + chosen.sources).flatten(), chosen.ids.flatten())
    current = current._replace(
        tokens=tokens, token_log_p=token_log_p, log_p=chosen.totals, banks=banks, forbidden=forbidden
    )
    return chosen.sources, current


def _best(following: Continuations, current: BeamState) -> BeamSelection:
    """Select the K best continuations of each sentence, of the k best [N k] of each of its beams."""
    beams, k = current.log_p.shape[1], following.ids.shape[1]
    totals = following.log_p.view(-1, beams, k) + current.log_p[:, :, None]
    best, flat = totals.flatten(1).topk(beams, dim=1)  # [B K], [B K]
    ids, gained = (part.view(len(flat), -1).gather(1, flat) for part in (following.ids, following.log_p))
    return BeamSelection(flat // k, ids, gained, best)


def _finish(current: BeamState, finished: list[list[Hypothesis]], alpha: float, n_best: int) -> BeamState:
    """Move hypotheses that end in EOS to `finished`; each gives up its beam."""
    within = torch.arange(current.log_p.shape[1], device=current.log_p.device) < current.remaining[:, None]
    ended = current.tokens[:, :, -1] == EOS
    log_p = current.log_p.masked_fill(ended | ~within, NEVER)
    new = ended & within & (current.log_p > NEVER)
    rows = new.nonzero()
    if not len(rows):
        return current._replace(log_p=log_p)
    remaining, threshold = current.remaining - new.sum(dim=1), current.threshold.clone()
    penalty = float(length_penalty(current.tokens.shape[2], alpha))
    parts = (current.tokens[new], current.log_p[new], current.token_log_p[new])
    for (row, _), ids, total, token_log_p in zip(rows.tolist(), *(part.tolist() for part in parts), strict=True):
        hypotheses = finished[current.sentences[row]]
        hypotheses.append(Hypothesis(ids[:-1], total, total / penalty, token_log_p))
        if len(hypotheses) >= n_best:
            threshold[row] = sorted((h.score for h in hypotheses), reverse=True)[n_best - 1]
    return current._replace(log_p=log_p, remaining=remaining, threshold=threshold)


def _unfinished(current: BeamState) -> list[int]:
    """Return the rows of the sentences with an unfinished hypothesis that may still be among the `n_best`.

    Each token lowers log p <= 0, and the penalty lp grows with the length, so that log p / lp(maximum length) bounds
    the final score from above.
    """
    best = current.log_p.max(dim=1).values.double()
    # A finished beam has -inf. NaN, from damaged weights, compares as False with all numbers, so that search ends.
    return ((best > NEVER) & (best / current.largest_penalty > current.threshold)).nonzero()[:, 0].tolist()
