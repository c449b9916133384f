"""Greedy search: the most probable token, again and again. Knows no model."""

from collections.abc import Sequence

import torch

from heedful.decoding.search import Hypothesis, Request, Step, force, forced_ids, length_penalty, never_emitted
from heedful.models.interface import State
from heedful.text.vocabulary import BOS, EOS, PAD


def greedy_search(step: Step, state: State, requests: Sequence[Request], alpha: float = 0.0) -> list[list[Hypothesis]]:
    """One hypothesis a sentence; equal to `beam_search` with one beam. Finished sentences leave the batch."""
    outputs: list[list[int]] = [[] for _ in requests]
    log_ps: list[list[float]] = [[] for _ in requests]
    open_sentences = list(range(len(requests)))
    tokens = torch.full((len(requests),), BOS, device=state.device)
    position = 0
    while open_sentences:
        logits, state = step(state, tokens)
        log_p = never_emitted(logits.float().log_softmax(dim=-1), PAD, BOS)
        log_p = force(log_p, forced_ids([requests[i] for i in open_sentences], position, EOS))
        best_log_p, best = log_p.max(dim=-1)
        for sentence, token, value in zip(open_sentences, best.tolist(), best_log_p.tolist(), strict=True):
            log_ps[sentence].append(value)
            if token != EOS:
                outputs[sentence].append(token)
        rows = (best != EOS).nonzero()[:, 0]
        if len(rows) < len(open_sentences):
            open_sentences = [open_sentences[row] for row in rows.tolist()]
            if open_sentences:
                state = state.reorder(rows)
        tokens = best[rows]
        position += 1
    return [[_finish(ids, values, alpha)] for ids, values in zip(outputs, log_ps, strict=True)]


def _finish(ids: list[int], token_log_p: list[float], alpha: float) -> Hypothesis:
    log_p = sum(token_log_p)
    return Hypothesis(ids, log_p, log_p / float(length_penalty(len(token_log_p), alpha)), token_log_p)
