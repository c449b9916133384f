"""IBM Model 1 against expectation maximisation with dictionaries, and by hand."""

import math
import random
from collections import defaultdict

import numpy as np
import pytest

import heedful.data.lexicon as lexicon_module
from heedful.data.lexicon import NULL, learn_lexicon

Pair = tuple[list[int], list[int]]


def arrays(pairs: list[Pair]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs as the store gives them."""
    return [(np.array(source, np.int32), np.array(target, np.int32)) for source, target in pairs]


def random_pairs(seed: int, count: int = 30) -> list[Pair]:
    """Pairs of 1 to 6 ids; some ids occur twice in a sentence."""
    chance = random.Random(seed)
    return [([chance.randrange(4, 10) for _ in range(chance.randrange(1, 7))] for _ in range(2)) for _ in range(count)]  # pyright: ignore


def plain(pairs: list[Pair], iterations: int) -> dict[tuple[int, int], float]:
    """The same by dictionaries, one token at a time."""
    t = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        count: dict[tuple[int, int], float] = defaultdict(float)
        total: dict[int, float] = defaultdict(float)
        for source, target in pairs:
            for y in target:
                evidence = sum(t[x, y] for x in [NULL, *source])
                for x in [NULL, *source]:
                    count[x, y] += t[x, y] / evidence
                    total[x] += t[x, y] / evidence
        t = defaultdict(float, {(x, y): value / total[x] for (x, y), value in count.items()})
    return dict(t)


@pytest.mark.parametrize("iterations", [1, 2, 5])
@pytest.mark.parametrize("chunk", [1 << 22, 50, 1])
def test_is_em_with_dictionaries(iterations: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon_module, "CHUNK", chunk)
    pairs = [(list(source), list(target)) for source, target in random_pairs(iterations)]
    found = learn_lexicon(arrays(pairs), 12, iterations)
    table = {(x, y): p for x, y, p in zip(*(part.tolist() for part in found), strict=True)}
    assert table == pytest.approx(plain(pairs, iterations), abs=1e-12)


def test_of_too_many_pairs_some_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [([4], [5]), ([4], [6]), ([4], [5]), ([4], [7])]  # of two places each, one of them NULL
    monkeypatch.setattr(lexicon_module, "MOST_PLACES", 4)
    assert set(learn_lexicon(arrays(pairs), 8).target.tolist()) == {5}


def test_sums_to_one() -> None:
    pairs = [(list(source), list(target)) for source, target in random_pairs(7)]
    found = learn_lexicon(arrays(pairs), 12)
    assert np.bincount(found.source, found.probability)[np.unique(found.source)] == pytest.approx(1)


def test_the_likelihood_only_grows() -> None:
    """log p = sum_j log (1 / (S + 1) sum_i t(y_j | x_i)), the quantity that EM climbs."""
    pairs = [(list(source), list(target)) for source, target in random_pairs(3)]
    values = []
    for iterations in range(1, 8):
        found = learn_lexicon(arrays(pairs), 12, iterations)
        t = {(x, y): p for x, y, p in zip(*(part.tolist() for part in found), strict=True)}
        values.append(
            sum(math.log(sum(t[x, y] for x in [NULL, *s]) / (len(s) + 1)) for s, target in pairs for y in target)
        )
    assert values == sorted(values)


DAS, HAUS, BUCH, EIN = 4, 5, 6, 7
THE, HOUSE, BOOK, A = 4, 5, 6, 7


def test_two_words_that_differ_teach_the_third() -> None:
    """das Haus, das Buch, ein Buch: what goes with which is with_resolved_precision by elimination."""
    pairs = [([DAS, HAUS], [THE, HOUSE]), ([DAS, BUCH], [THE, BOOK]), ([EIN, BUCH], [A, BOOK])]
    best = learn_lexicon(arrays(pairs), 8, iterations=20).best(1, source_size=8)[:, 0].tolist()
    assert best[4:] == [THE, HOUSE, BOOK, A]


def test_best_by_hand() -> None:
    """After one iteration t is the share of expected counts: of 4's two target tokens, 5 is there twice."""
    pairs = arrays([([4], [5, 5, 6]), ([7], [6])])
    best = learn_lexicon(pairs, 8, iterations=1).best(2, source_size=9)
    assert best[4].tolist() == [5, 6]
    assert best[7].tolist() == [6, -1]
    assert best[8].tolist() == [-1, -1]


def test_equal_probabilities_are_in_the_order_of_ids() -> None:
    pairs = arrays([([4], [9, 7, 8])])
    assert learn_lexicon(pairs, 10).best(2, source_size=5)[4].tolist() == [7, 8]
