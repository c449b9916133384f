"""Search for CTC, where a model predicts a symbol or a blank at each position, all at once. [Graves 2006]

A path has one of these at each position; the output is the path without repeats, then without blanks. The blank is
the id of PAD. Knows no model and no text. Shapes: T positions, V symbols, K prefixes. All sums are in float64.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from heedful.decoding.search import NEVER, Hypothesis
from heedful.models.interface import Prediction
from heedful.text.vocabulary import BOS, EOS, PAD

Numbers = NDArray[np.float64]


def ctc_hypotheses(answer: Prediction, beam: int, n_best: int) -> list[list[Hypothesis]]:
    """Return the `n_best` best outputs of each sentence, best first: by the best path where `beam` is 1, else by
    prefixes.

    Raises ValueError if n_best > beam.
    """
    if n_best > beam:
        raise ValueError(f"`n_best` must be at most `beam` ({beam}), but is {n_best}.")
    return [[ctc_greedy(row)] if beam == 1 else ctc_beam(row, beam, n_best) for row in path_log_p(answer)]


def path_log_p(answer: Prediction) -> list[Float[Tensor, "_ V"]]:
    """Compute log softmax of each sentence at its real positions, in float64; BOS and EOS are on no path (-inf)."""
    log_p = answer.logits.double().log_softmax(dim=-1)
    log_p[:, :, [BOS, EOS]] = NEVER
    return [row[real] for row, real in zip(log_p.cpu(), answer.mask.cpu(), strict=True)]


def ctc_greedy(log_p: Float[Tensor, "T V"]) -> Hypothesis:
    """Collapse the most probable path. The output's `log_p` is that of all paths to it. [Graves 2006, 3.2, Eq. 4]"""
    best = log_p.argmax(dim=1).tolist()
    changed = [position == 0 or index != best[position - 1] for position, index in enumerate(best)]
    ids = [index for index, new in zip(best, changed, strict=True) if new and index != PAD]
    return _hypothesis(_numbers(log_p), ids)


class _Prefixes(NamedTuple):
    """K different prefixes of outputs, and the log-probability of all paths so far that collapse to each."""

    ids: list[tuple[int, ...]]
    blank: Numbers  # [K] of those paths that end in a blank
    symbol: Numbers  # [K] of those that end in the last symbol


def ctc_beam(log_p: Float[Tensor, "T V"], beam: int, n_best: int = 1) -> list[Hypothesis]:
    """Search the best outputs by the sum over their paths: the `beam` best prefixes are kept at each position. [Hannun
    2014, Algorithm 1, without a language model]

    What is kept to the end is ranked by its exact probability. Exact, where the beam holds all prefixes.
    """
    table = _numbers(log_p)
    kept = _Prefixes([()], np.zeros(1), np.full(1, NEVER))
    for frame in table:
        kept = _next(kept, frame, beam)
    found = [_hypothesis(table, list(ids)) for ids in kept.ids]
    return sorted(found, key=lambda hypothesis: -hypothesis.score)[:n_best]


def _next(kept: _Prefixes, frame: Numbers, beam: int) -> _Prefixes:
    """Extend the best prefixes by a position with log-probabilities `frame` [V]: as they are, or by one more symbol."""
    last = np.array([ids[-1] if ids else PAD for ids in kept.ids])
    total = np.logaddexp(kept.blank, kept.symbol)
    longer = total[:, None] + frame  # [K V]
    rows = np.arange(len(last))
    longer[rows, last] = kept.blank + frame[last]  # the same symbol anew, only after a blank
    longer[:, PAD] = NEVER
    blank, symbol = total + frame[PAD], kept.symbol + frame[last]
    row_of = {ids: row for row, ids in enumerate(kept.ids)}
    for row, ids in enumerate(kept.ids):
        parent = row_of.get(ids[:-1]) if ids else None
        if parent is not None:  # the parent and one more symbol are this prefix: their probabilities add up
            symbol[row] = np.logaddexp(symbol[row], longer[parent, ids[-1]])
            longer[parent, ids[-1]] = NEVER
    scores = np.concatenate([np.logaddexp(blank, symbol), longer.ravel()])
    chosen = np.argpartition(-scores, beam - 1)[:beam] if beam < len(scores) else np.arange(len(scores))
    chosen = chosen[scores[chosen] != NEVER]
    stay, grow = chosen[chosen < len(last)], chosen[chosen >= len(last)] - len(last)
    parents, symbols = np.divmod(grow, len(frame))
    grown = [(*kept.ids[parent], index) for parent, index in zip(parents.tolist(), symbols.tolist(), strict=True)]
    return _Prefixes(
        [kept.ids[row] for row in stay.tolist()] + grown,
        np.concatenate([blank[stay], np.full(len(grow), NEVER)]),
        np.concatenate([symbol[stay], longer.ravel()[grow]]),
    )


def ctc_log_p(log_p: Float[Tensor, "T V"], ids: Sequence[int]) -> list[float]:
    """Compute ln p of each symbol, given that the output began with those before it, and of the end after the last one.

    Their sum is ln p(ids | x) over all paths, by the forward recursion; the terms are log ratios of the probabilities
    of prefixes, as in prefix search. [Graves 2006, 3.2, 4.1] A symbol that no path can give has -inf.
    """
    return _token_log_p(_numbers(log_p), ids)


def _token_log_p(table: Numbers, ids: Sequence[int]) -> list[float]:
    wanted = np.array(ids, dtype=np.int64)
    anew = np.concatenate([[True], wanted[1:] != wanted[:-1]])[: len(wanted)]  # it can follow without a blank
    blank = np.full(len(wanted) + 1, NEVER)  # [U+1] of the paths so far to the first u symbols that end in a blank
    symbol = blank.copy()  # of those that end in symbol u
    blank[0] = 0.0
    begun = np.full(len(wanted), NEVER)  # of the beginnings that hold symbol u
    for frame in table:
        emitted = frame[wanted]
        begins = np.logaddexp(blank[:-1], np.where(anew, symbol[:-1], NEVER)) + emitted
        begun = np.logaddexp(begun, begins)
        goes_on = np.logaddexp(begins, symbol[1:] + emitted)
        blank = np.logaddexp(blank, symbol) + frame[PAD]
        symbol = np.concatenate([[NEVER], goes_on])
    reached = [0.0, *begun.tolist(), float(np.logaddexp(blank[-1], symbol[-1]))]
    return [now - before if before != NEVER else NEVER for before, now in pairwise(reached)]


def _hypothesis(table: Numbers, ids: list[int]) -> Hypothesis:
    token_log_p = _token_log_p(table, ids)
    log_p = sum(token_log_p)
    return Hypothesis(ids, log_p, log_p, token_log_p)


def _numbers(log_p: Tensor) -> Numbers:
    return log_p.detach().double().cpu().numpy()
