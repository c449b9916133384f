"""Beam search against every possible output, against a beam with lists, and against itself without stopping early."""

import math
from typing import ClassVar

import pytest
import torch
from tests.decoding.table import A, B, Table, exhaustive, plain_beam, random_table, written_table

import heedful.decoding.beam as beam_module
from heedful.decoding.beam import BeamState, beam_search
from heedful.decoding.greedy import greedy_search
from heedful.decoding.search import Hypothesis, Request, length_penalty

ALPHAS = pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.5])
SEEDS = pytest.mark.parametrize("seed", range(4))
REQUESTS = [Request(3), Request(0), Request(2), Request(3, (B,)), Request(3, (A, B, A))]
ALL = 64  # at least as many beams as outputs of up to 3 of the 3 symbols


def search(table: Table, requests: list[Request], beam: int, alpha: float, n_best: int = 1) -> list[list[Hypothesis]]:
    return beam_search(table.step, table.start(len(requests), beam), requests, beam=beam, alpha=alpha, n_best=n_best)


@ALPHAS
@SEEDS
@pytest.mark.parametrize("n_best", [1, 3, 40])
def test_wide_enough_is_exhaustive(alpha: float, seed: int, n_best: int) -> None:
    table = random_table(seed)
    for sentence, hypotheses in enumerate(search(table, REQUESTS, ALL, alpha, n_best)):
        expected = exhaustive(table, sentence, REQUESTS[sentence], alpha)[:n_best]
        assert [tuple(one.ids) for one in hypotheses] == [one.ids for one in expected]
        assert [one.log_p for one in hypotheses] == pytest.approx([one.log_p for one in expected], abs=1e-4)
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-4)


@SEEDS
@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_narrow_beams_are_those_of_one_sentence_alone(seed: int, beam: int) -> None:
    """Sentences in a batch, some of which end sooner, each as a beam with lists finds it."""
    table = random_table(seed)
    requests = [*REQUESTS, Request(6), Request(5, (A,))]
    for sentence, hypotheses in enumerate(search(table, requests, beam, 0.0, n_best=beam)):
        expected = plain_beam(table, sentence, requests[sentence], beam)
        assert {tuple(one.ids) for one in hypotheses} == set(expected)


@ALPHAS
@SEEDS
@pytest.mark.parametrize("beam", [1, 2, 4])
@pytest.mark.parametrize("ends", [0.0, 3.0], ids=["long", "short"])
def test_stopping_early_never_changes_the_answer(
    alpha: float, seed: int, beam: int, ends: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def until_the_end(current: BeamState, *_: object) -> list[int]:
        return [row for row, best in enumerate(current.log_p.max(dim=1).values.tolist()) if best > -math.inf]

    requests = [Request(6), Request(2), Request(5, (A,))]
    found, steps = [], []
    for early in (True, False):
        if not early:
            monkeypatch.setattr(beam_module, "_unfinished", until_the_end)
        table = random_table(seed, ends)
        found.append(search(table, requests, beam, alpha, n_best=min(beam, 2)))
        steps.append(sum(table.rows))
    assert found[0] == found[1]
    assert steps[0] <= steps[1]


def test_stops_early_when_it_can() -> None:
    table = random_table(1, ends=6.0)
    search(table, [Request(50)], beam=4, alpha=0.6)
    assert len(table.rows) < 10


class TestByHand:
    """P(A) = .6, then .5; P(B) = .4, then .95."""

    TABLE: ClassVar = {
        (): {A: 0.6, B: 0.4},
        (A,): {A: 0.5, B: 0.5},
        (B,): {A: 0.95, B: 0.05},
    }

    def test_greedy_drifts(self) -> None:
        table = written_table(self.TABLE)
        [[found]] = greedy_search(table.step, table.start(1, 1), [Request(5)])
        assert math.exp(found.log_p) == pytest.approx(0.30)

    def test_two_beams_find_the_better_one(self) -> None:
        [[found]] = search(written_table(self.TABLE), [Request(5)], beam=2, alpha=0.0)
        assert (found.ids, math.exp(found.log_p)) == ([B, A], pytest.approx(0.38))
        assert [math.exp(value) for value in found.token_log_p] == pytest.approx([0.4, 0.95, 1.0])

    def test_fewer_outputs_than_beams(self) -> None:
        [found] = search(written_table(self.TABLE), [Request(5)], beam=9, alpha=0.0, n_best=9)
        assert [math.exp(one.log_p) for one in found] == pytest.approx([0.38, 0.30, 0.30, 0.02])


@pytest.mark.parametrize(
    ("length", "penalty"), [(1, 1.0), (5, 1.358655), (10, 1.732862), (20, 2.354362), (50, 3.778565)]
)
def test_length_penalty(length: int, penalty: float) -> None:
    assert length_penalty(length, 0.6) == pytest.approx(penalty, abs=1e-6)
    assert torch.as_tensor(length_penalty(torch.tensor(float(length)), 0.6)).item() == pytest.approx(penalty, abs=1e-6)
    assert length_penalty(length, 0.0) == 1.0


def test_a_larger_alpha_prefers_longer_outputs() -> None:
    table = written_table({(): {A: 0.45, 3: 0.55}, (A,): {A: 0.95, B: 0.05}})
    lengths = [len(search(table_of(table), [Request(5)], beam=4, alpha=alpha)[0][0].ids) for alpha in (0.0, 3.0)]
    assert lengths == [0, 2]


def table_of(table: Table) -> Table:
    """The same table, with no steps counted yet."""
    return Table(table.logits)


@SEEDS
@ALPHAS
def test_one_beam_is_greedy(seed: int, alpha: float) -> None:
    requests = [*REQUESTS, Request(7), Request(7)]
    table = random_table(seed, ends=-1.0)
    by_beam = search(table, requests, beam=1, alpha=alpha)
    again = table_of(table)
    by_greed = greedy_search(again.step, again.start(len(requests), 1), requests, alpha)
    for [left], [right] in zip(by_beam, by_greed, strict=True):
        assert left.ids == right.ids
        assert (left.log_p, left.score) == pytest.approx((right.log_p, right.score), abs=1e-5)
        assert left.token_log_p == pytest.approx(right.token_log_p, abs=1e-5)
        assert sum(left.token_log_p) == pytest.approx(left.log_p, abs=1e-5)


def test_more_outputs_than_beams_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match=r"`n_best` must be at most `beam` \(2\), but is 3"):
        search(random_table(0), [Request(3)], beam=2, alpha=0.0, n_best=3)


def test_nothing_to_search() -> None:
    table = random_table(0)
    assert search(table, [], beam=2, alpha=0.0) == []
    assert table.rows == []


@SEEDS
@pytest.mark.parametrize("beam", [4, 7, 30])
def test_more_beams_than_symbols(seed: int, beam: int) -> None:
    """Six symbols, of which PAD and BOS never come: a beam of 7 has only 4 continuations at first."""
    table = random_table(seed)
    requests = [Request(2), Request(0), Request(4, (A, A))]
    for sentence, hypotheses in enumerate(search(table, requests, beam, 0.0, n_best=beam)):
        expected = plain_beam(table, sentence, requests[sentence], beam)
        assert {tuple(one.ids) for one in hypotheses} == set(expected)
