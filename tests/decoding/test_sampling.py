"""Sampling: reproducible, independent of the batch, and as often as the probabilities say."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.table import A, B, Table, random_table, written_table

from heedful.decoding.sampling import draw, sample, truncated
from heedful.decoding.search import Hypothesis, Request


def drawn(table: Table, requests: list[Request], seeds: list[int], temperature: float = 1.0) -> list[Hypothesis]:
    return sample(table.step, table.start(len(requests), 1), requests, seeds, temperature=temperature)


class TestDraws:
    def test_the_seed_decides(self) -> None:
        requests, seeds = [Request(6)] * 20, list(range(20))
        first, again = (drawn(random_table(0), requests, seeds) for _ in range(2))
        assert first == again
        other = drawn(random_table(0), requests, [seed + 100 for seed in seeds])
        assert [one.ids for one in first] != [one.ids for one in other]

    def test_each_is_as_if_alone(self) -> None:
        requests, seeds = [Request(6), Request(2), Request(6, (B,))], [3, 1, 4]
        together = drawn(random_table(2), requests, seeds)
        for sentence, request in enumerate(requests):
            whole = random_table(2)
            alone = Table(lambda _sentence, output, number=sentence, whole=whole: whole.logits(number, output))
            assert drawn(alone, [request], [seeds[sentence]]) == [together[sentence]]

    @pytest.mark.parametrize(("temperature", "share"), [(1.0, 0.7), (0.5, 0.49 / 0.58), (2.0, 0.6044)])
    def test_frequencies(self, temperature: float, share: float) -> None:
        """p^(1/T), normalised: .7 and .3 become .49 : .09, or their roots."""
        n = 3000
        table = written_table({(): {A: 0.7, B: 0.3}})
        found = Counter(one.ids[0] for one in drawn(table, [Request(1)] * n, list(range(n)), temperature))
        assert found[A] / n == pytest.approx(share, abs=4 * (share * (1 - share) / n) ** 0.5)
        assert set(found) == {A, B}

    def test_scores_are_the_models_own_log_probabilities(self) -> None:
        table = random_table(7)
        for sentence, one in enumerate(drawn(table, [Request(4)] * 5, list(range(5)), temperature=0.3)):
            assert one.log_p == one.score == pytest.approx(table.log_p(sentence, tuple(one.ids)), abs=1e-4)
            assert sum(one.token_log_p) == pytest.approx(one.log_p)

    def test_prefix_and_limit(self) -> None:
        found = drawn(random_table(1, ends=-100.0), [Request(3, (B, A))] * 10, list(range(10)))
        assert all(one.ids[:2] == [B, A] and len(one.ids) == 3 for one in found)

    def test_only_one_choice_is_greedy(self) -> None:
        table = random_table(4)
        requests = [Request(5)] * 3
        one = sample(table.step, table.start(3, 1), requests, [1, 2, 3], top_k=1)
        cold = drawn(random_table(4), requests, [4, 5, 6], temperature=1e-3)
        assert [found.ids for found in one] == [found.ids for found in cold]


rows = st.lists(st.floats(-6, 6), min_size=1, max_size=7).map(lambda row: torch.tensor([row]))


class TestTruncated:
    @given(scores=rows, k=st.integers(1, 9))
    @settings(deadline=None)
    def test_exactly_k_of_the_most_probable(self, scores: torch.Tensor, k: int) -> None:
        p = truncated(scores, k, None)[0]
        kept = p > 0
        assert int(kept.sum()) == min(k, scores.shape[1])
        if not kept.all():
            assert scores[0][kept].min() >= scores[0][~kept].max()
        expected = scores[0].softmax(-1) * kept
        torch.testing.assert_close(p, expected / expected.sum())

    @given(scores=rows, top_p=st.floats(0.05, 0.99))
    @settings(deadline=None)
    def test_the_smallest_set_that_reaches_p(self, scores: torch.Tensor, top_p: float) -> None:
        plain = scores[0].double().softmax(-1)
        kept = truncated(scores, None, top_p)[0] > 0
        mass = plain[kept].sum().item()
        assert mass >= top_p - 1e-5
        assert mass - plain[kept].min().item() < top_p + 1e-5
        if not kept.all():
            assert scores[0][kept].min() >= scores[0][~kept].max()

    def test_ties_are_cut_by_id(self) -> None:
        assert truncated(torch.zeros(1, 5), 2, None).tolist() == [[0.5, 0.5, 0, 0, 0]]

    def test_p_is_of_what_k_left(self) -> None:
        """Of .4 .3 .2 .1 the first two are 4/7 and 3/7, and 4/7 reaches .55; of all four .4 does not."""
        scores = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
        assert (truncated(scores, 2, 0.55) > 0).tolist() == [[True, False, False, False]]
        assert (truncated(scores, None, 0.55) > 0).tolist() == [[True, True, False, False]]

    @given(scores=rows, epsilon=st.floats(0.01, 0.9))
    @settings(deadline=None)
    def test_those_of_at_least_epsilon(self, scores: torch.Tensor, epsilon: float) -> None:
        """And always the most probable one."""
        plain = scores[0].softmax(-1)
        kept = (plain >= epsilon) | (torch.arange(len(plain)) == scores[0].argmax())
        torch.testing.assert_close(truncated(scores, None, None, epsilon)[0], plain * kept / (plain * kept).sum())

    def test_all_cuts_by_hand(self) -> None:
        """.4 .3 .2 .1: epsilon .15 leaves three, k two of them, and p .55 of these two the first."""
        scores = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
        assert (truncated(scores, None, None, 0.15) > 0).tolist() == [[True, True, True, False]]
        assert (truncated(scores, 2, None, 0.15) > 0).tolist() == [[True, True, False, False]]
        assert (truncated(scores, 2, 0.55, 0.15) > 0).tolist() == [[True, False, False, False]]

    def test_no_cut(self) -> None:
        scores = torch.randn(3, 6, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(truncated(scores, None, None), scores.softmax(-1))
        torch.testing.assert_close(truncated(scores, 6, 1.0), scores.softmax(-1))


class TestInverse:
    def test_uniform_numbers_become_the_distribution(self) -> None:
        p = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
        uniform = (torch.arange(1000) + 0.5) / 1000
        counts = torch.bincount(draw(p.expand(1000, -1), uniform), minlength=6)
        assert counts.tolist() == [0, 250, 0, 500, 250, 0]

    @pytest.mark.parametrize(("uniform", "chosen"), [(0.0, 1), (1.0, 4)])
    def test_ends(self, uniform: float, chosen: int) -> None:
        """Rounding may give 1, and no number gives what is impossible."""
        p = torch.tensor([[0.0, 0.25, 0.0, 0.5, 0.25, 0.0]])
        assert draw(p, torch.tensor([uniform])).tolist() == [chosen]
