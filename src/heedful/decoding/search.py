"""What every search shares: what a step is, what a hypothesis is, and how long one may get. Knows no model and no text.

Rows: K consecutive rows a sentence; N = (sentences still open) * K.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.models.interface import State

Step = Callable[[State, Int[Tensor, " N"]], tuple[Float[Tensor, "N V"], State]]
"""Consume one token a row; the logits of the next token, and the state after it."""


class Hypothesis(NamedTuple):
    """A finished output: its ids without BOS and EOS, and the natural log-probabilities that the model gave."""

    ids: list[int]
    log_p: float  # of the whole output, EOS included
    score: float  # what search ranks by: higher is better
    token_log_p: list[float]  # of each id, and of EOS


class Request(NamedTuple):
    """What one sentence asks for: the longest output in tokens, without EOS, and ids with which it must begin."""

    max_length: int
    prefix: Sequence[int] = ()


def length_penalty(length: int | Tensor, alpha: float) -> float | Tensor:
    """lp(Y) = ((5 + |Y|) / 6)^alpha: scores are log p / lp. [Wu 2016, Eq. 14] `length` counts EOS."""
    return ((5 + length) / 6) ** alpha


def forced_ids(requests: Sequence[Request], position: int, end: int) -> list[int]:
    """For each sentence the only id that may come at this position, or -1 where the choice is free."""
    return [
        request.prefix[position] if position < len(request.prefix) else end if position >= request.max_length else -1
        for request in requests
    ]


def force(log_p: Float[Tensor, "N V"], forced: Sequence[int]) -> Float[Tensor, "N V"]:
    """Everything but the forced id becomes impossible (-inf); rows with -1 stay as they are."""
    if all(wanted < 0 for wanted in forced):
        return log_p
    allowed = torch.tensor(forced, device=log_p.device)[:, None]
    ids = torch.arange(log_p.shape[1], device=log_p.device)[None, :]
    return log_p.masked_fill((allowed >= 0) & (ids != allowed), float("-inf"))


def never_emitted(log_p: Float[Tensor, "N V"], pad: int, begin: int) -> Float[Tensor, "N V"]:
    """PAD and BOS are no outputs."""
    log_p[:, pad] = float("-inf")
    log_p[:, begin] = float("-inf")
    return log_p
