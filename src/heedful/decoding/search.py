"""Types and functions that all kinds of search share: steps, requests, continuations, hypotheses, the length penalty.

Knows no model and no text. Each unfinished sentence has K consecutive rows; N is the number of rows in all.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.models.interface import State
from heedful.text.vocabulary import BOS, EOS, PAD

Step = Callable[[State, Int[Tensor, " N"]], tuple[Float[Tensor, "N V"], State]]
"""Consume one token a row; return the logits of the next token, and the state after it."""

NEVER = float("-inf")
FREE = -1  # no id is forced
RUN = 64  # neighbours in a row of the vocabulary whose maximum is taken at once


class Hypothesis(NamedTuple):
    """A finished output: its ids without BOS and EOS, and the natural log-probabilities that the model gave."""

    ids: list[int]
    log_p: float  # of the whole output, EOS included
    score: float  # what search ranks by: higher is better
    token_log_p: list[float]  # of each id, and of EOS


class Request(NamedTuple):
    """Constraints on the output of one sentence: its maximum length in tokens, without EOS, its prefix, and the phrases
    that it must, or must not, contain.
    """

    max_length: int
    prefix: Sequence[int] = ()
    required: Sequence[Sequence[int]] = ()  # phrases that the output must contain (`decoding.constraints`)
    forbidden: Int[Tensor, "S V"] | None = (
        None  # automaton of the texts that it must not contain (`decoding.forbidden`)
    )
    no_repeat: int = 0  # no n-gram of this order may occur twice in the output; 0 is off


def length_penalty(length: int | Tensor, alpha: float) -> float | Tensor:
    """Compute lp(Y) = ((5 + |Y|) / 6)^alpha: scores are log p / lp. [Wu 2016, Eq. 14] `length` counts EOS."""
    return ((5 + length) / 6) ** alpha


@final
class ForcedTokens:
    """Positions at which the next token is forced: the prefix of a request, and EOS at its maximum length."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = requests
        self.longest_prefix = max((len(request.prefix) for request in requests), default=0)
        self.least_length = min((request.max_length for request in requests), default=0)

    def at(self, position: int, sentences: Sequence[int]) -> list[int] | None:
        """Return for each of these requests the id that is forced at a position, or FREE; None where all are free."""
        if self.longest_prefix <= position < self.least_length:
            return None
        requests = [self.requests[i] for i in sentences]
        forced = [
            request.prefix[position]
            if position < len(request.prefix)
            else EOS
            if position >= request.max_length
            else FREE
            for request in requests
        ]
        return None if all(wanted == FREE for wanted in forced) else forced


class Continuations(NamedTuple):
    """Continuations of each row, best first; -inf where not allowed."""

    log_p: Float[Tensor, "N k"]
    ids: Int[Tensor, "N k"]


class BeamSelection(NamedTuple):
    """Tokens that extend the K beams of each sentence, and the beams that they extend."""

    sources: Int[Tensor, "B K"]  # the beam that each comes from
    ids: Int[Tensor, "B K"]
    log_p: Float[Tensor, "B K"]  # of the id
    totals: Float[Tensor, "B K"]  # of the output with it; -inf where a beam has no continuation


def log_probabilities(logits: Float[Tensor, "N V"]) -> Float[Tensor, "N V"]:
    """Compute log softmax in float32; PAD and BOS are no outputs (-inf)."""
    log_p = logits.float().log_softmax(dim=-1)
    log_p[:, PAD] = NEVER
    log_p[:, BOS] = NEVER
    return log_p


def continuations(log_p: Float[Tensor, "N V"], k: int, forced: Sequence[int] | None) -> Continuations:
    """Return the k most probable ids of each row (all V where V < k); only the forced one where an id is forced.

    `forced` has an id, or FREE, for each row.
    """
    return only_forced(most_probable(log_p, min(k, log_p.shape[1])), log_p, forced)


def most_probable(log_p: Float[Tensor, "N V"], k: int) -> Continuations:
    """Return the k greatest of each row with their ids, best first: `log_p.topk(k)`.

    The k greatest lie in the k runs of RUN neighbours with the greatest maxima, or in the remainder after the last run.
    It is faster than `topk` over the whole vocabulary, since maxima are vectorised.
    """
    n_runs = log_p.shape[1] // RUN
    if n_runs <= 2 * k:
        return Continuations(*log_p.topk(k, dim=1))
    runs = log_p[:, : n_runs * RUN].unflatten(1, (n_runs, RUN))
    chosen = runs.amax(dim=2).topk(k, dim=1).indices  # [N k]
    ids = (chosen[:, :, None] * RUN + torch.arange(RUN, device=log_p.device)).flatten(1)  # [N k*RUN]
    rest = torch.arange(n_runs * RUN, log_p.shape[1], device=log_p.device)
    if len(rest):
        ids = torch.cat([ids, rest.expand(len(ids), -1)], dim=1)
    values, best = log_p.gather(1, ids).topk(k, dim=1)
    return Continuations(values, ids.gather(1, best))


def only_forced(free: Continuations, log_p: Float[Tensor, "N V"], forced: Sequence[int] | None) -> Continuations:
    """Restrict rows where an id is forced to that one alone, with its own log-probability."""
    if forced is None:
        return free
    wanted = torch.tensor(forced, device=log_p.device)[:, None]  # [N 1]
    alone = torch.full_like(free.log_p, NEVER)
    alone[:, :1] = log_p.gather(1, wanted.clamp(min=0))
    is_free = wanted == FREE
    return Continuations(torch.where(is_free, free.log_p, alone), torch.where(is_free, free.ids, wanted))
