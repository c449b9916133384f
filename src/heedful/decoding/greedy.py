"""Decoding with one hypothesis a row: greedy search, and the loop over tokens that sampling shares with it.

Knows no model.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.decoding.forbidden import ForbiddenTokens
from heedful.decoding.search import (
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

Choose = Callable[[Float[Tensor, "N V"], Sequence[int], Sequence[int] | None], Continuations]
"""Choose one continuation a row, from log p of the next token, the index of each row's request, and forced ids."""


def follow(
    step: Step, state: State, requests: Sequence[Request], choose: Choose, *, alpha: float = 0.0
) -> list[Hypothesis]:
    """Generate the output of each request token by token, ranked by log p / length_penalty. A finished one leaves the
    batch at once.

    `state` has one row a request. At `max_length` only EOS may follow, so every output ends.
    """
    forcing = ForcedTokens(requests)
    longest = max((request.max_length for request in requests), default=0) + 1
    ids = torch.full((len(requests), longest), EOS)
    log_p = torch.zeros(len(requests), longest)
    unfinished, rows = list(range(len(requests))), torch.arange(len(requests))
    tokens = torch.full((len(requests),), BOS, device=state.device)
    forbidden = ForbiddenTokens.of(requests, 1, state.device)
    position = 0
    while unfinished:
        logits, state = step(state, tokens)
        log_following, forced = log_probabilities(logits), forcing.at(position, unfinished)
        if forbidden is not None:
            log_following = forbidden.apply(log_following, forced)
        chosen = choose(log_following, unfinished, forced)
        tokens = chosen.ids[:, 0]
        ids[rows, position] = tokens.cpu()
        log_p[rows, position] = chosen.log_p[:, 0].cpu()
        stay = (tokens != EOS).nonzero()[:, 0]
        if len(stay) < len(unfinished):
            rows = rows[stay.cpu()]
            unfinished, tokens = rows.tolist(), tokens[stay]
            if unfinished:
                state = state.reorder(stay)
        forbidden = forbidden and forbidden.after(stay, tokens)
        position += 1
    return [_hypothesis(*both, alpha) for both in zip(ids.tolist(), log_p.tolist(), strict=True)]


def _hypothesis(ids: list[int], token_log_p: list[float], alpha: float) -> Hypothesis:
    length = ids.index(EOS)
    token_log_p = token_log_p[: length + 1]
    log_p = sum(token_log_p)
    return Hypothesis(ids[:length], log_p, log_p / float(length_penalty(length + 1, alpha)), token_log_p)


def greedy_search(step: Step, state: State, requests: Sequence[Request], alpha: float = 0.0) -> list[list[Hypothesis]]:
    """Search greedily: one hypothesis a sentence, equal to `beam_search` with one beam. Finished sentences leave the
    batch.
    """
    return [[found] for found in follow(step, state, requests, _most_probable, alpha=alpha)]


def _most_probable(log_p: Tensor, _requests: Sequence[int], forced: Sequence[int] | None) -> Continuations:
    return continuations(log_p, 1, forced)
