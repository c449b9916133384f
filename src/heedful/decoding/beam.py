"""Batched beam search that knows no model: a step, a state that can be reordered, and nothing else.

A sentence has K beams. Each step keeps the best continuations; one that ends takes its beam with it, so K hypotheses
are found in all, and one beam is greedy search. A sentence leaves the batch when its beams are used up, or as soon as
no open beam can still beat the hypotheses that were asked for.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.decoding.search import Hypothesis, Request, Step, force, forced_ids, length_penalty, never_emitted
from heedful.models.interface import State
from heedful.text.vocabulary import BOS, EOS, PAD

NEVER = float("-inf")


class Open(NamedTuple):
    """The beams of the sentences that are still searched: B sentences, K beams, t tokens so far."""

    sentences: list[int]  # which request each of the B is
    tokens: Tensor  # [B K t] ids so far
    token_log_p: Tensor  # [B K t]
    log_p: Tensor  # [B K] sums; -inf where a beam is closed


def beam_search(
    step: Step, state: State, requests: Sequence[Request], *, beam: int, alpha: float, n_best: int = 1
) -> list[list[Hypothesis]]:
    """The `n_best` best finished hypotheses of each sentence, best first, ranked by log p / length_penalty.

    `state` has `beam` rows a sentence. At `max_length` only EOS may follow, so every hypothesis ends.
    Raises ValueError if n_best > beam.
    """
    if n_best > beam:
        raise ValueError(f"`n_best` must be at most `beam` ({beam}), but is {n_best}.")
    found: list[list[Hypothesis]] = [[] for _ in requests]
    live = _begin(len(requests), beam, state.device)
    while live.sentences:
        last = live.tokens[:, :, -1] if live.tokens.shape[2] else torch.full_like(live.log_p, BOS, dtype=torch.long)
        logits, state = step(state, last.flatten())
        sources, live = _extend(logits, live, [requests[i] for i in live.sentences], beam)
        live = _collect(live, found, alpha, beam)
        keep = _still_open(live, found, requests, alpha, n_best)
        if keep:
            kept = torch.tensor(keep, device=sources.device)
            rows = (kept[:, None] * beam + sources[kept]).flatten()
            state = state.reorder(rows)
        live = Open([live.sentences[i] for i in keep], *(part[keep] for part in live[1:]))
    return [sorted(some, key=lambda h: -h.score)[:n_best] for some in found]


def _begin(n_sentences: int, beam: int, device: torch.device) -> Open:
    """One open beam a sentence; the others start when it branches."""
    log_p = torch.full((n_sentences, beam), NEVER, device=device)
    log_p[:, 0] = 0.0
    nothing = log_p.new_empty(n_sentences, beam, 0)
    return Open(list(range(n_sentences)), nothing.long(), nothing, log_p)


def _extend(logits: Tensor, live: Open, requests: list[Request], beam: int) -> tuple[Tensor, Open]:
    """The `beam` best continuations of each sentence, and the beam [B K] that each came from."""
    log_p = never_emitted(logits.float().log_softmax(dim=-1), PAD, BOS)  # [N V]
    forced = forced_ids(requests, live.tokens.shape[2], EOS)
    log_p = force(log_p, [wanted for wanted in forced for _ in range(beam)])
    n_symbols = log_p.shape[1]
    totals = log_p.view(len(requests), beam, n_symbols) + live.log_p[:, :, None]
    best, flat = totals.flatten(1).topk(beam, dim=1)  # [B K], [B K]
    sources = flat // n_symbols
    ids = flat % n_symbols
    gained = log_p.view(len(requests), -1).gather(1, flat)
    index = sources[:, :, None].expand(-1, -1, live.tokens.shape[2])
    tokens = torch.cat([live.tokens.gather(1, index), ids[:, :, None]], dim=2)
    token_log_p = torch.cat([live.token_log_p.gather(1, index), gained[:, :, None]], dim=2)
    return sources, Open(live.sentences, tokens, token_log_p, best)


def _collect(live: Open, found: list[list[Hypothesis]], alpha: float, beam: int) -> Open:
    """Move what ended into `found`, and close as many beams as hypotheses were found."""
    log_p = live.log_p.clone()
    ended = (live.tokens[:, :, -1] == EOS).tolist()
    totals = log_p.tolist()
    for row, sentence in enumerate(live.sentences):
        room = beam - len(found[sentence])
        for rank in range(beam):
            if rank >= room or ended[row][rank]:
                log_p[row, rank] = NEVER
            if rank < room and ended[row][rank] and totals[row][rank] > NEVER:
                ids = live.tokens[row, rank, :-1].tolist()
                score = totals[row][rank] / float(length_penalty(len(ids) + 1, alpha))
                found[sentence].append(Hypothesis(ids, totals[row][rank], score, live.token_log_p[row, rank].tolist()))
    return live._replace(log_p=log_p)


def _still_open(
    live: Open, found: list[list[Hypothesis]], requests: Sequence[Request], alpha: float, n_best: int
) -> list[int]:
    """The rows whose open beams might still change the answer.

    A sum of log-probabilities only falls, and the penalty only grows to its value at the longest output, so
    log p / lp(longest) bounds what a beam can still reach.
    """
    keep: list[int] = []
    for row, (sentence, best) in enumerate(zip(live.sentences, live.log_p.max(dim=1).values.tolist(), strict=True)):
        if not best > NEVER:  # closed; or NaN, from damaged weights, which no further step can mend
            continue
        bound = best / float(length_penalty(requests[sentence].max_length + 1, alpha))
        scores = sorted((h.score for h in found[sentence]), reverse=True)
        if len(scores) < n_best or scores[n_best - 1] < bound:
            keep.append(row)
    return keep
