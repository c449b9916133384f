"""The best path and prefix beam search, against all paths written down."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.paths import forward, outputs

from heedful.decoding.ctc import ctc_beam, ctc_greedy, ctc_hypotheses, ctc_log_p
from heedful.models.interface import Prediction
from heedful.text.vocabulary import BOS, EOS, PAD

ALL = 1000  # a beam that holds every prefix of the tables below


def random_table(n_places: int, n_symbols: int, seed: int, sharpness: float = 2.0) -> torch.Tensor:
    """Log-probabilities [T V], some near 0 and some near 1."""
    logits = torch.randn(n_places, n_symbols, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (sharpness * logits).log_softmax(dim=1)


tables = st.builds(random_table, st.integers(1, 5), st.integers(2, 4), st.integers(0, 10_000))


class TestByHand:
    """Two places, P(blank) = .6 at both: the best path says nothing (.36), but "a" has .64 in all."""

    TABLE = torch.tensor([[0.6, 0.4], [0.6, 0.4]], dtype=torch.float64).log()

    def test_the_best_path_says_nothing(self) -> None:
        found = ctc_greedy(self.TABLE)
        assert found.ids == []
        assert math.isclose(found.log_p, math.log(0.36))

    @pytest.mark.parametrize("beam", [2, 3, 10])
    def test_prefix_search_says_a(self, beam: int) -> None:
        best, second = ctc_beam(self.TABLE, beam, n_best=2)
        assert (best.ids, second.ids) == ([1], [])
        assert math.isclose(best.log_p, math.log(0.64))
        assert math.isclose(second.log_p, math.log(0.36))

    def test_repeats_need_a_blank_between(self) -> None:
        certain = torch.full((5, 3), 1e-9, dtype=torch.float64)
        for place, index in enumerate([1, 1, 0, 1, 2]):
            certain[place, index] = 1.0
        for found in (ctc_greedy(certain.log()), ctc_beam(certain.log(), 4)[0]):
            assert found.ids == [1, 1, 2]
        assert ctc_log_p(certain.log()[:2], [1, 1])[1:] == [-math.inf, -math.inf]


class TestUniform:
    """Over blank, a and b at three places: the counts of paths, as known."""

    TABLE = torch.full((3, 3), 1 / 3, dtype=torch.float64).log()

    @pytest.mark.parametrize(("ids", "count"), [((), 1), ((1,), 6), ((1, 2), 5), ((1, 1), 1), ((1, 2, 1), 1)])
    def test_paths(self, ids: tuple[int, ...], count: int) -> None:
        assert math.isclose(sum(ctc_log_p(self.TABLE, ids)), math.log(count / 27))


@given(table=tables)
@settings(max_examples=60)
def test_a_wide_beam_is_exact(table: torch.Tensor) -> None:
    expected = outputs(table.exp().tolist())
    found = ctc_beam(table, ALL, n_best=ALL)
    assert {tuple(one.ids) for one in found} == {ids for ids, p in expected.items() if p > 0}
    for one in found:
        assert math.isclose(one.log_p, math.log(expected[tuple(one.ids)]), abs_tol=1e-9)
        assert one.score == one.log_p
    assert [one.log_p for one in found] == sorted((one.log_p for one in found), reverse=True)


@given(table=tables, ids=st.lists(st.integers(1, 3), max_size=3))
@settings(max_examples=60)
def test_tokens_are_conditional_probabilities(table: torch.Tensor, ids: list[int]) -> None:
    """p(begins with y_1 .. y_u) / p(begins with y_1 .. y_u-1), from all outputs; and their product is p(y | x)."""
    ids = [min(index, table.shape[1] - 1) for index in ids]
    p = table.exp().tolist()
    every = outputs(p)
    begins = [sum(mass for found, mass in every.items() if found[:n] == tuple(ids[:n])) for n in range(len(ids) + 1)]
    wanted = [*begins, every.get(tuple(ids), 0.0)]
    values = [after / before if before else 0.0 for before, after in itertools.pairwise(wanted)]
    assert [math.exp(value) for value in ctc_log_p(table, ids)] == pytest.approx(values, abs=1e-12)
    assert forward(p, ids) == pytest.approx(every.get(tuple(ids), 0.0), abs=1e-12)


@given(table=tables)
@settings(max_examples=40)
def test_greedy_is_the_best_path(table: torch.Tensor) -> None:
    best = table.argmax(dim=1).tolist()
    kept = [index for place, index in enumerate(best) if index != PAD and (place == 0 or best[place - 1] != index)]
    found = ctc_greedy(table)
    assert found.ids == kept
    assert math.isclose(found.log_p, math.log(forward(table.exp().tolist(), kept)))


def test_a_narrow_beam_keeps_the_best() -> None:
    """Of peaked tables three prefixes are enough."""
    for seed in range(20):
        table = random_table(5, 4, seed, sharpness=6.0)
        assert ctc_beam(table, 3)[0].ids == ctc_beam(table, ALL)[0].ids


class TestHypotheses:
    def prediction(self) -> Prediction:
        logits = torch.randn(3, 6, 7, generator=torch.Generator().manual_seed(4))
        return Prediction(logits, torch.arange(6) < torch.tensor([6, 2, 4])[:, None])

    @pytest.mark.parametrize("beam", [1, 4])
    def test_a_sentence_alone_gives_the_same(self, beam: int) -> None:
        prediction = self.prediction()
        together = ctc_hypotheses(prediction, beam, n_best=1)
        for row, length in enumerate([6, 2, 4]):
            alone = Prediction(prediction.logits[row : row + 1, :length], prediction.mask[row : row + 1, :length])
            assert ctc_hypotheses(alone, beam, n_best=1) == together[row : row + 1]

    def test_one_beam_is_the_best_path(self) -> None:
        prediction = self.prediction()
        log_p = prediction.logits.double().log_softmax(dim=2)
        log_p[:, :, [BOS, EOS]] = -math.inf
        assert ctc_hypotheses(prediction, 1, 1)[1] == [ctc_greedy(log_p[1, :2])]

    def test_begin_and_end_are_never_said(self) -> None:
        prediction = self.prediction()
        prediction.logits[:, :, [BOS, EOS]] = 9.0
        for beam in (1, 5):
            said = {index for some in ctc_hypotheses(prediction, beam, beam) for one in some for index in one.ids}
            assert not said & {PAD, BOS, EOS}

    def test_no_more_hypotheses_than_beams(self) -> None:
        with pytest.raises(ValueError, match=r"`n_best` must be at most `beam` \(2\), but is 3"):
            ctc_hypotheses(self.prediction(), 2, 3)

    def test_a_source_without_places_says_nothing(self) -> None:
        prediction = Prediction(torch.randn(1, 1, 5), torch.zeros(1, 1, dtype=torch.bool))
        for beam in (1, 3):
            ((found,),) = ctc_hypotheses(prediction, beam, 1)
            assert (found.ids, found.log_p) == ([], 0.0)
