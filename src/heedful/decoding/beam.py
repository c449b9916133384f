"""Batched beam search that knows no model: a step, a state that can be reordered, and nothing else.

A sentence has K beams. Each step keeps the best continuations; one that ends takes its beam with it, so K hypotheses
are found in all, and one beam is greedy search. A sentence leaves the batch when its beams are used up, or as soon as
no unfinished beam can still beat the `n_best` hypotheses.
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
    """Beams of the sentences that are not finished: B sentences, K beams, t tokens so far."""

    sentences: list[int]  # which request each of the B is
    tokens: Tensor  # [B K t] ids so far
    token_log_p: Tensor  # [B K t]
    log_p: Tensor  # [B K] sums; -inf where a beam is finished
    remaining: Tensor  # [B] hypotheses that are still to be found
    goal: Tensor  # [B] score that an unfinished beam must be able to beat; -inf while fewer than n_best are found
    longest: Tensor  # [B] the length penalty of the longest output
    banks: PhraseBanks | None  # of required phrases
    forbidden: ForbiddenTokens | None  # of what may not be emitted

    def only(self, rows: list[int]) -> "BeamState":
        """Return the state of the sentences in these rows."""
        beams = [row * self.log_p.shape[1] + beam for row in rows for beam in range(self.log_p.shape[1])]
        rules = self.banks and self.banks.keep(rows), self.forbidden and self.forbidden.keep(beams)
        return BeamState._make([[self.sentences[row] for row in rows], *(part[rows] for part in self[1:7]), *rules])


def beam_search(
    step: Step, state: State, requests: Sequence[Request], *, beam: int, alpha: float, n_best: int = 1
) -> list[list[Hypothesis]]:
    """Return the `n_best` best finished hypotheses of each sentence, best first, ranked by log p / length_penalty.

    `state` has `beam` rows a sentence. At `max_length` only EOS may follow, so every hypothesis ends.
    Raises ValueError if n_best > beam.
    """
    if n_best > beam:
        raise ValueError(f"`n_best` must be at most `beam` ({beam}), but is {n_best}.")
    found: list[list[Hypothesis]] = [[] for _ in requests]
    forcing = ForcedTokens(requests)
    current = _begin(requests, beam, alpha, state.device)
    tokens = torch.full((len(requests) * beam,), BOS, device=state.device)
    unmoved = torch.arange(beam, device=state.device)
    while current.sentences:
        logits, state = step(state, tokens)
        sources, current = _extend(logits, current, forcing, beam)
        current = _finish(current, found, alpha, n_best)
        keep = _unfinished(current)
        if len(keep) < len(current.sentences):
            current = current.only(keep)
            kept = torch.tensor(keep, dtype=torch.long, device=sources.device)
            sources = sources[kept]
            state = state.reorder((kept[:, None] * beam + sources).flatten()) if keep else state
        elif not torch.equal(sources, unmoved.expand_as(sources)):
            state = state.reorder(
                (torch.arange(0, sources.numel(), beam, device=sources.device)[:, None] + sources).flatten()
            )
        tokens = current.tokens[:, :, -1].flatten()
    return [sorted(some, key=lambda h: -h.score)[:n_best] for some in found]


def _begin(requests: Sequence[Request], beam: int, alpha: float, device: torch.device) -> BeamState:
    """Start with one beam a sentence; the others follow from its continuations."""
    log_p = torch.full((len(requests), beam), NEVER, device=device)
    log_p[:, :1] = 0.0
    nothing = log_p.new_empty(len(requests), beam, 0)
    goal = torch.full((len(requests),), NEVER, dtype=torch.float64, device=device)
    remaining = torch.full((len(requests),), beam, device=device)
    lengths = torch.tensor([request.max_length + 1 for request in requests], dtype=torch.float64, device=device)
    longest = torch.as_tensor(length_penalty(lengths, alpha))
    banks, forbidden = PhraseBanks.of(requests, beam, device), ForbiddenTokens.of(requests, beam, device)
    sentences = list(range(len(requests)))
    return BeamState(sentences, nothing.long(), nothing, log_p, remaining, goal, longest, banks, forbidden)


def _extend(logits: Tensor, current: BeamState, forcing: ForcedTokens, beam: int) -> tuple[Tensor, BeamState]:
    """Return the `beam` best continuations of each sentence, and the beam [B K] that each extends.

    They are among the `beam` best of each of its rows, so that nothing else is made of all [N V] than log p.
    """
    forced = forcing.at(current.tokens.shape[2], current.sentences)
    of_row = None if forced is None else [wanted for wanted in forced for _ in range(beam)]
    log_p = log_probabilities(logits)
    if current.forbidden is not None:
        log_p = current.forbidden.apply(log_p, of_row)
    if current.banks is None:
        chosen, banks = _best(continuations(log_p, beam, of_row), current), None
    else:
        chosen, banks = current.banks.choose(log_p, current.log_p, of_row, current.tokens.shape[2])
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
    """Select the best of the best continuations [N k] of all beams."""
    beams, k = current.log_p.shape[1], following.ids.shape[1]
    totals = following.log_p.view(-1, beams, k) + current.log_p[:, :, None]
    best, flat = totals.flatten(1).topk(beams, dim=1)  # [B K], [B K]
    ids, gained = (part.view(len(flat), -1).gather(1, flat) for part in (following.ids, following.log_p))
    return BeamSelection(flat // k, ids, gained, best)


def _finish(current: BeamState, found: list[list[Hypothesis]], alpha: float, n_best: int) -> BeamState:
    """Move hypotheses that ended into `found`; each takes its beam with it."""
    within = torch.arange(current.log_p.shape[1], device=current.log_p.device) < current.remaining[:, None]
    ended = current.tokens[:, :, -1] == EOS
    log_p = current.log_p.masked_fill(ended | ~within, NEVER)
    new = ended & within & (current.log_p > NEVER)
    rows = new.nonzero()
    if not len(rows):
        return current._replace(log_p=log_p)
    remaining, goal = current.remaining - new.sum(dim=1), current.goal.clone()
    penalty = float(length_penalty(current.tokens.shape[2], alpha))
    parts = (current.tokens[new], current.log_p[new], current.token_log_p[new])
    for (row, _), ids, total, token_log_p in zip(rows.tolist(), *(part.tolist() for part in parts), strict=True):
        some = found[current.sentences[row]]
        some.append(Hypothesis(ids[:-1], total, total / penalty, token_log_p))
        if len(some) >= n_best:
            goal[row] = sorted((h.score for h in some), reverse=True)[n_best - 1]
    return current._replace(log_p=log_p, remaining=remaining, goal=goal)


def _unfinished(current: BeamState) -> list[int]:
    """Return the rows whose unfinished beams might still change the result.

    A sum of log-probabilities only falls, and the penalty only grows to its value at the longest output, so
    log p / lp(longest) bounds what a beam can still reach.
    """
    best = current.log_p.max(dim=1).values.double()
    # Finished beams are -inf; NaN, from damaged weights, is greater than nothing, and no further step can mend it.
    return ((best > NEVER) & (best / current.longest > current.goal)).nonzero()[:, 0].tolist()
