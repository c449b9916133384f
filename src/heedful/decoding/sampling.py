"""Sampling outputs: with temperature, among the k most probable, or among the smallest set with probability p.

Knows no model. Each sample draws from a generator of its own, so it does not depend on the rest of the batch.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.decoding.greedy import follow
from heedful.decoding.search import Continuations, Hypothesis, Request, Step, only_forced
from heedful.models.interface import State


def sample(
    step: Step,
    state: State,
    requests: Sequence[Request],
    seeds: Sequence[int],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    epsilon: float | None = None,
) -> list[Hypothesis]:
    """Draw one sample a request, whose score is its log-probability under the model itself (before temperature and
    cuts).
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def choose(log_p: Tensor, unfinished: Sequence[int], forced: Sequence[int] | None) -> Continuations:
        uniform = [float(torch.rand((), generator=generators[i], dtype=torch.float64)) for i in unfinished]
        drawn = draw(truncated(log_p / temperature, top_k, top_p, epsilon), torch.tensor(uniform).to(log_p.device))[
            :, None
        ]
        return only_forced(Continuations(log_p.gather(1, drawn), drawn), log_p, forced)

    return follow(step, state, requests, choose)


def truncated(
    scores: Float[Tensor, "N V"], top_k: int | None, top_p: float | None, epsilon: float | None = None
) -> Float[Tensor, "N V"]:
    """Truncate the probabilities of each row: those of at least epsilon, of them at most k of the most probable, then
    the smallest set reaching p.

    The most probable token always stays. Ties are cut by id, the lower one stays. [Fan 2018; Holtzman 2020; Hewitt
    2022]
    """
    if epsilon is not None:
        impossible = scores.softmax(dim=-1) < epsilon
        scores = scores.masked_fill(impossible.scatter(1, scores.argmax(dim=-1, keepdim=True), False), float("-inf"))
    if top_k is None and top_p is None:  # without a sort, which takes most of the time
        return scores.softmax(dim=-1)
    ordered, ids = scores.sort(dim=-1, descending=True, stable=True)
    probabilities = ordered.softmax(dim=-1)
    kept = torch.ones_like(probabilities, dtype=torch.bool)
    if top_k is not None:
        kept[:, top_k:] = False
    if top_p is not None:
        within_k = probabilities * kept
        within_k = within_k / within_k.sum(dim=-1, keepdim=True)
        kept &= within_k.cumsum(dim=-1) - within_k < top_p
    probabilities = probabilities * kept
    probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probabilities).scatter_(1, ids, probabilities)


def draw(probabilities: Float[Tensor, "N V"], uniform: Float[Tensor, " N"]) -> Tensor:
    """Return the id at which the cumulative probability first exceeds the uniform number of its row."""
    cumulative = probabilities.cumsum(dim=-1, dtype=torch.float64)
    target = uniform.double()[:, None] * cumulative[:, -1:]
    chosen = torch.searchsorted(cumulative, target, right=True)[:, 0]
    last_possible = probabilities.shape[1] - 1 - (probabilities.flip(-1) > 0).int().argmax(dim=-1)
    return torch.minimum(chosen, last_possible)
