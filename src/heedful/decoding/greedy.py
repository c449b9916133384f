"""Greedy search: the most probable token, again and again. Knows no model."""

from collections.abc import Sequence

from torch import Tensor

from heedful.decoding.search import Continuations, Hypothesis, Request, Step, continuations
from heedful.decoding.stepping import follow
from heedful.models.interface import State


def greedy_search(step: Step, state: State, requests: Sequence[Request], alpha: float = 0.0) -> list[list[Hypothesis]]:
    """One hypothesis a sentence; equal to `beam_search` with one beam. Finished sentences leave the batch."""
    return [[found] for found in follow(step, state, requests, _most_probable, alpha=alpha)]


def _most_probable(log_p: Tensor, _requests: Sequence[int], forced: Sequence[int] | None) -> Continuations:
    return continuations(log_p, 1, forced)
