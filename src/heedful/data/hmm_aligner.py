"""From which source unit each target unit comes, learned from pairs of ids alone: a hidden Markov model of jumps.

Knows ids and positions, no text and no network. I source units, J target units, V pairs of ids that meet in some pair.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heedful.data.lexicon import Ids, learn_lexicon

WIDEST = 12  # a jump of more positions counts as one of so many
ROUNDS = 30  # at most
ENOUGH = 1e-3  # nats a target unit: a round that gains less is the last
FLOOR = 1e-8  # of a probability, so that nothing that was seen becomes impossible
Reals = NDArray[np.float64]
Places = NDArray[np.int64]


class _Found(NamedTuple):
    """Expected counts of one pair."""

    occupied: Reals  # [J I]: p(target unit j comes from source unit i)
    jumps: Reals  # [2 WIDEST + 1]: how often the source position moved so far between neighbours
    log_p: float  # of the target


def align_pairs(pairs: Sequence[tuple[Ids, Ids]]) -> list[Places]:
    """Align pairs: for each pair, the source position (from 0) of each target unit. Neither side may be empty. [Vogel
    1996]

    p(y, a | x) = prod_j p(a_j - a_j-1) t(y_j | x_a_j), both learned by expectation maximisation, t from Model 1's. It
    prefers no direction: jumps start equally probable, and reversed pairs are learned as well as parallel ones.
    """
    size = max(int(target.max()) for _, target in pairs) + 1
    lexicon = learn_lexicon(pairs, size)
    keys = lexicon.source * size + lexicon.target
    cells = [np.searchsorted(keys, source.astype(np.int64) * size + target[:, None]) for source, target in pairs]
    emission = lexicon.probability
    jump = np.ones(2 * WIDEST + 1)
    log_p, units = -np.inf, sum(map(len, cells))
    for _ in range(ROUNDS):
        before, log_p = log_p, 0.0
        counts, jumps = np.zeros(len(keys)), np.zeros(len(jump))
        for table in cells:
            found = _expect(np.maximum(emission[table], FLOOR), jump)
            np.add.at(counts, table, found.occupied)
            jumps += found.jumps
            log_p += found.log_p
        emission = counts / np.maximum(np.bincount(lexicon.source, counts), FLOOR)[lexicon.source]
        jump = np.maximum(jumps / jumps.sum(), FLOOR)
        if log_p - before < ENOUGH * units:
            break
    return [_best(np.maximum(emission[table], FLOOR), jump) for table in cells]


def _moves(jump: Reals, n_places: int) -> tuple[Places, Reals]:
    """Return where a jump leads from each position, and its probability; row 0 starts before the first position."""
    positions = np.arange(n_places)
    which = np.clip(positions - np.arange(-1, n_places)[:, None], -WIDEST, WIDEST) + WIDEST  # [1 + I I]
    moves = jump[which]
    return which, moves / moves.sum(axis=1, keepdims=True)


def _expect(emission: Reals, jump: Reals) -> _Found:
    """Run the forward and the backward pass, scaled to sum to 1 at each step. `emission` [J I]."""
    length, n_places = emission.shape
    which, moves = _moves(jump, n_places)
    forward, backward = np.empty_like(emission), np.ones_like(emission)
    scale = np.empty(length)
    for j in range(length):
        forward[j] = emission[j] * (moves[0] if j == 0 else forward[j - 1] @ moves[1:])
        scale[j] = forward[j].sum()
        forward[j] /= scale[j]
    for j in range(length - 1, 0, -1):
        backward[j - 1] = moves[1:] @ (emission[j] * backward[j]) / scale[j]
    occupied = forward * backward
    ahead = emission[1:] * backward[1:] / scale[1:, None]
    between = (forward[:-1].T @ ahead) * moves[1:]  # [I I]
    jumps = np.zeros(len(jump))
    np.add.at(jumps, which, np.concatenate([occupied[:1], between]))
    return _Found(occupied, jumps, float(np.log(scale).sum()))


def _best(emission: Reals, jump: Reals) -> Places:
    """Return the most probable positions [J]; of equally probable ones the earlier."""
    _, moves = _moves(jump, emission.shape[1])
    log_moves, log_emission = np.log(moves), np.log(emission)
    score = log_moves[0] + log_emission[0]
    came_from = np.zeros(emission.shape, np.int64)
    for j in range(1, len(emission)):
        reached = score[:, None] + log_moves[1:]  # [I I]
        came_from[j] = reached.argmax(axis=0)
        score = reached.max(axis=0) + log_emission[j]
    positions = np.empty(len(emission), np.int64)
    positions[-1] = score.argmax()
    for j in range(len(emission) - 1, 0, -1):
        positions[j - 1] = came_from[j, positions[j]]
    return positions
