"""Sampling outputs: with temperature, among the k most probable, or among the smallest set with probability p.

Knows no model. Each sample draws from a generator of its own, so it does not depend on the rest of the batch.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.decoding.search import Hypothesis, Request, Step, force, forced_ids, never_emitted
from heedful.models.interface import State
from heedful.text.vocabulary import BOS, EOS, PAD


def sample(
    step: Step,
    state: State,
    requests: Sequence[Request],
    seeds: Sequence[int],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> list[Hypothesis]:
    """One sample a request, whose score is its log-probability under the model itself (before temperature and cuts)."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    outputs: list[list[int]] = [[] for _ in requests]
    log_ps: list[list[float]] = [[] for _ in requests]
    open_requests = list(range(len(requests)))
    tokens = torch.full((len(requests),), BOS, device=state.device)
    position = 0
    while open_requests:
        logits, state = step(state, tokens)
        log_p = never_emitted(logits.float().log_softmax(dim=-1), PAD, BOS)
        log_p = force(log_p, forced_ids([requests[i] for i in open_requests], position, EOS))
        draws = torch.tensor(
            [float(torch.rand((), generator=generators[i], dtype=torch.float64)) for i in open_requests]
        )
        chosen = draw(truncated(log_p / temperature, top_k, top_p), draws.to(log_p.device))
        values = log_p.gather(1, chosen[:, None])[:, 0].tolist()
        for request, token, value in zip(open_requests, chosen.tolist(), values, strict=True):
            log_ps[request].append(value)
            if token != EOS:
                outputs[request].append(token)
        rows = (chosen != EOS).nonzero()[:, 0]
        if len(rows) < len(open_requests):
            open_requests = [open_requests[row] for row in rows.tolist()]
            if open_requests:
                state = state.reorder(rows)
        tokens = chosen[rows]
        position += 1
    return [Hypothesis(ids, sum(lp), sum(lp), lp) for ids, lp in zip(outputs, log_ps, strict=True)]


def truncated(scores: Float[Tensor, "N V"], top_k: int | None, top_p: float | None) -> Float[Tensor, "N V"]:
    """The probabilities after both cuts, in each row: exactly k of the most probable, then the smallest set reaching p.

    The most probable token always stays. Ties are cut by id, the lower one stays. [Fan 2018; Holtzman 2020]
    """
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
    """The id at which the cumulative probability first exceeds the uniform number of its row."""
    cumulative = probabilities.double().cumsum(dim=-1)
    target = uniform.double()[:, None] * cumulative[:, -1:]
    chosen = (cumulative <= target).sum(dim=-1)
    last_possible = probabilities.shape[1] - 1 - (probabilities.flip(-1) > 0).int().argmax(dim=-1)
    return torch.minimum(chosen, last_possible)
