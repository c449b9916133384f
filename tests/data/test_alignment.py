"""Links of the jump model: brute force over all paths, and pairs whose true links are known."""

import itertools
import random

import numpy as np
import pytest

from heedful.data.hmm_aligner import WIDEST, _best, _expect, align_pairs
from heedful.recipe.tables import TASKS


def numbered(rows: list[list[str]]) -> list[np.ndarray]:
    known: dict[str, int] = {}
    return [np.array([known.setdefault(word, 4 + len(known)) for word in row], np.int32) for row in rows]


def path_probability(path: tuple[int, ...], emission: np.ndarray, jump: np.ndarray) -> float:
    """prod_j p(a_j | a_j-1) t_j, jumps normalised over the places that are there."""
    total, before = 1.0, -1
    for j, place in enumerate(path):
        reachable = sum(jump[other - before + WIDEST] for other in range(emission.shape[1]))
        total *= jump[place - before + WIDEST] / reachable * emission[j, place]
        before = place
    return total


@pytest.mark.parametrize(("length", "places"), [(1, 1), (1, 3), (4, 3), (3, 4)])
def test_expectations_and_best_path_are_those_of_all_paths(length: int, places: int) -> None:
    chance = np.random.default_rng(length)
    emission, jump = chance.random((length, places)), chance.random(2 * WIDEST + 1)
    paths = {path: path_probability(path, emission, jump) for path in itertools.product(range(places), repeat=length)}
    total = sum(paths.values())
    occupied, jumps = np.zeros((length, places)), np.zeros(len(jump))
    for path, p in paths.items():
        for j, place in enumerate(path):
            occupied[j, place] += p / total
            jumps[place - (path[j - 1] if j else -1) + WIDEST] += p / total
    found = _expect(emission, jump)
    np.testing.assert_allclose(found.occupied, occupied)
    np.testing.assert_allclose(found.jumps, jumps, atol=1e-12)
    assert found.log_p == pytest.approx(np.log(total))
    assert tuple(_best(emission, jump)) == max(paths, key=paths.__getitem__)


def test_finds_the_links_of_the_made_up_language() -> None:
    task = TASKS["lexicon"]
    pairs = [task.pair(index, 1) for index in range(400)]
    source, target = (numbered([side.split() for side in sides]) for sides in zip(*pairs, strict=True))
    found = align_pairs(list(zip(source, target, strict=True)))
    true = [[place for place, _ in task.alignment(index, 1)] for index in range(400)]
    right = sum(int((places == gold).sum()) for places, gold in zip(found, true, strict=True))
    assert right / sum(map(len, true)) > 0.97


def test_has_no_favourite_direction() -> None:
    """Letters of which many stand several times in a line, read from either end."""
    chance = random.Random(1)
    lines = [chance.choices("abcdefgh", k=chance.randint(4, 10)) for _ in range(200)]
    there = numbered(lines)
    for step in (1, -1):
        links = align_pairs([(ids, ids[::step]) for ids in there])
        expected = [np.arange(len(ids))[::step] for ids in there]
        right = sum(int((a == b).sum()) for a, b in zip(links, expected, strict=True))
        assert right / sum(map(len, there)) > 0.99
