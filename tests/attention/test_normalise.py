"""Normalisers: the oracles of each, and the laws of all. What is said of sampling is in test_sample.py."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.attention.tables import MASKS, B, H, S, T
from torch import Tensor

from heedful.attention import (
    Argmax,
    LocalP,
    Mask,
    Normaliser,
    Sample,
    Softmax,
    Sparsemax,
    StraightThrough,
    TopK,
    softmax,
)

POSITION = torch.linspace(0.3, S - 1.2, B * T, dtype=torch.float64).view(B, T)

NORMALISERS: dict[str, Callable[[], Normaliser]] = {
    "softmax": Softmax,
    "sparsemax": Sparsemax,
    "top 2": lambda: TopK(2),
    "top 99": lambda: TopK(99),
    "argmax": Argmax,
    "straight-through": StraightThrough,
    "sample": lambda: Sample(torch.Generator().manual_seed(4)),
    "half sampled": lambda: Sample(torch.Generator().manual_seed(4), expected=0.5),
    "local-p": lambda: LocalP(POSITION, 2),
}
LESS_THAN_ONE = {"local-p"}  # its Gaussian is not renormalised
ONE_HOT = {"argmax", "straight-through", "sample"}
RANDOM = {"sample", "half sampled"}
SMOOTH = {"softmax", "sparsemax", "top 2", "top 99", "local-p"}  # whose gradient is the true one


def scores(seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    made = torch.randn(B, H, T, S, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2
    return made.to(dtype).requires_grad_()


def row(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64).view(1, 1, 1, -1)


def log(*weights: float) -> Tensor:
    """Scores whose softmax is these weights."""
    return row(*weights).log()


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize("name", NORMALISERS)
class TestEveryNormaliser:
    def test_weights_where_it_is_declared_sum_to_one_over_what_is_seen(self, name: str, mask: Mask | None) -> None:
        normalise = NORMALISERS[name]()
        weights = normalise(scores(), mask)
        assert weights.shape == (B, H, T, S)
        assert (weights >= 0).all()
        visible = torch.ones(B, H, T, S, dtype=torch.bool) if mask is None else mask.visible.expand(B, H, T, S)
        assert not weights[~visible].any()
        some = visible.any(-1).double()
        sums = weights.sum(dim=normalise.axis)
        if name not in LESS_THAN_ONE:
            torch.testing.assert_close(sums, some)
        else:
            assert (sums <= some).all()
            assert (sums < some - 1e-3).any()

    def test_empty_rows_have_no_gradient_and_spoil_no_other(self, name: str, mask: Mask | None) -> None:
        given = scores()
        weights = NORMALISERS[name]()(given, mask)
        if not weights.requires_grad:  # decided without gradient
            assert name in ONE_HOT
            return
        (gradient,) = torch.autograd.grad((weights * torch.randn(S, dtype=torch.float64)).sum(), given)
        assert gradient.isfinite().all()
        if mask is not None:
            assert not gradient[~mask.visible.expand_as(gradient)].any()

    def test_hidden_scores_change_nothing_at_all(self, name: str, mask: Mask | None) -> None:
        if mask is None:
            return
        for filler in (1e4, -1e4, float("inf"), float("nan")):
            moved = torch.where(mask.visible, scores(), filler)
            assert torch.equal(NORMALISERS[name]()(moved, mask), NORMALISERS[name]()(scores(), mask))

    def test_a_constant_added_to_a_row_changes_nothing(self, name: str, mask: Mask | None) -> None:
        shift = torch.linspace(-9, 9, T, dtype=torch.float64)[:, None]
        torch.testing.assert_close(
            NORMALISERS[name]()(scores() + shift, mask), NORMALISERS[name]()(scores(), mask), atol=1e-12, rtol=1e-9
        )

    def test_bfloat16_and_float32_stay_what_they_are(self, name: str, mask: Mask | None) -> None:
        for dtype in (torch.float32, torch.bfloat16):
            weights = NORMALISERS[name]()(scores(dtype=dtype), mask)
            assert weights.dtype == dtype
            assert weights.isfinite().all()

    def test_gradients_by_finite_differences(self, name: str, mask: Mask | None) -> None:
        if name in SMOOTH:
            normalise = NORMALISERS[name]()
            assert torch.autograd.gradcheck(lambda s: normalise(s, mask), (scores(),), fast_mode=True)

    def test_only_samples_differ_from_call_to_call(self, name: str, mask: Mask | None) -> None:
        normalise = NORMALISERS[name]()
        draws = [normalise(scores(), mask) for _ in range(6)]
        assert any(not torch.equal(draws[0], draw) for draw in draws) is (name in RANDOM)

    def test_one_hot(self, name: str, mask: Mask | None) -> None:
        weights = NORMALISERS[name]()(scores(), mask)
        if name in ONE_HOT:
            assert set(weights.unique().tolist()) <= {0.0, 1.0}


class TestSparsemax:
    def test_four_names(self) -> None:
        torch.testing.assert_close(Sparsemax()(row(1, 1, 0, 1), None), row(1 / 3, 1 / 3, 0, 1 / 3))

    def test_two_scores_are_a_clipped_line(self) -> None:
        """[Martins 2016, 2.4]: for scores [t, 0] the first weight is (t + 1) / 2 within [0, 1]."""
        for t in (-3.0, -1.0, -0.4, 0.0, 0.7, 1.0, 2.5):
            first = min(max((t + 1) / 2, 0), 1)
            torch.testing.assert_close(Sparsemax()(row(t, 0), None), row(first, 1 - first))

    @given(st.lists(st.floats(-5, 5), min_size=1, max_size=7))
    def test_is_the_nearest_point_of_the_simplex(self, numbers: list[float]) -> None:
        """What characterises the projection: s - p is tau on the support and at most tau elsewhere."""
        s = row(*numbers)
        p = Sparsemax()(s, None)
        rest = s - p
        tau = rest[p > 0]
        torch.testing.assert_close(tau, tau[:1].expand_as(tau))
        assert (rest[p == 0] <= tau.max() + 1e-9).all()
        torch.testing.assert_close(p.sum(), torch.tensor(1.0, dtype=torch.float64))

    def test_jacobian(self) -> None:
        """Diag(s) - s s^T / |S|, s the indicator of the support S. [Martins 2016, 2.5]"""
        z = torch.tensor([0.9, 1.1, -2.0, 0.8], dtype=torch.float64)
        jacobian = torch.autograd.functional.jacobian(lambda z: Sparsemax()(z.view(1, 1, 1, -1), None).flatten(), z)
        support = torch.tensor([1.0, 1, 0, 1], dtype=torch.float64)
        torch.testing.assert_close(jacobian, support.diag() - support.outer(support) / 3)

    def test_scores_far_from_zero(self) -> None:
        far = row(1, 1, 0, 1).float() + 3e4
        torch.testing.assert_close(Sparsemax()(far, None), row(1 / 3, 1 / 3, 0, 1 / 3).float())


class TestTopK:
    def test_exactly_k_with_the_original_weights(self) -> None:
        """w = [.5, .3, .15, .05]: for k = 2 .5 / .8 and .3 / .8; tensor2tensor's version would keep one less."""
        w = (0.5, 0.3, 0.15, 0.05)
        for k, expected in {
            1: (1, 0, 0, 0),
            2: (0.625, 0.375, 0, 0),
            3: (0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0),
            4: w,
            9: w,
        }.items():
            torch.testing.assert_close(TopK(k)(log(*w), None), row(*expected))

    def test_ties_go_to_the_earlier_key(self) -> None:
        torch.testing.assert_close(TopK(2)(row(1, 3, 3, 3), None), row(0, 0.5, 0.5, 0))
        torch.testing.assert_close(TopK(1)(row(*[0.0] * 40), None), row(1, *[0.0] * 39))

    def test_hidden_keys_take_no_place(self) -> None:
        mask = Mask.key_padding(torch.tensor([[False, True, True, True]]))
        torch.testing.assert_close(TopK(2)(log(0.5, 0.3, 0.15, 0.05), mask), row(0, 2 / 3, 1 / 3, 0))

    @given(k=st.integers(1, S), seed=st.integers(0, 99))
    def test_keeps_k_and_their_proportions(self, k: int, seed: int) -> None:
        given = scores(seed)
        soft, kept = softmax(given, None), TopK(k)(given, None)
        assert ((kept > 0).sum(-1) == k).all()
        best = torch.where(kept > 0, soft, 0)
        torch.testing.assert_close(kept, best / best.sum(-1, keepdim=True))
        assert (torch.where(kept > 0, soft, 2).amin(-1) >= torch.where(kept > 0, 0, soft).amax(-1)).all()

    def test_k(self) -> None:
        with pytest.raises(ValueError, match="`k` must be at least 1, but is 0"):
            TopK(0)


class TestHard:
    def test_argmax_takes_the_earlier_of_a_tie(self) -> None:
        assert torch.equal(Argmax()(row(1, 4, 2, 4), None), row(0, 1, 0, 0))

    def test_straight_through_has_the_gradient_of_the_softmax(self) -> None:
        given, slope = scores(), torch.randn(S, dtype=torch.float64)
        hard, soft = StraightThrough()(given, None), softmax(given, None)
        assert torch.equal(hard, Argmax()(given, None))
        (found,), (expected,) = (torch.autograd.grad((w * slope).sum(), given) for w in (hard, soft))
        torch.testing.assert_close(found, expected)


class TestLocalP:
    """S = 10, uniform scores, D = 2, sigma = 1, p_t = 4.3."""

    SCORES = torch.zeros(1, 1, 1, 10, dtype=torch.float64)
    P = torch.tensor([[4.3]], dtype=torch.float64)

    def test_the_window_of_the_paper(self) -> None:
        weights = LocalP(self.P, 2)(self.SCORES, None)[0, 0, 0]
        expected = [0, 0, 0, 0.107389, 0.238999, 0.195676, 0.058937, 0, 0, 0]
        torch.testing.assert_close(weights, torch.tensor(expected).double(), atol=1e-6, rtol=0)
        assert weights.sum().item() == pytest.approx(0.601001, abs=1e-6)

    def test_windows_around_a_whole_place(self) -> None:
        for window, p, sum_ in (("round", 4.3, 0.495002), ("floor", 4.3, 0.495002)):
            weights = LocalP(torch.tensor([[p]]).double(), 2, window)(self.SCORES, None)[0, 0, 0]
            assert weights.nonzero().flatten().tolist() == [2, 3, 4, 5, 6]
            assert weights.sum().item() == pytest.approx(sum_, abs=1e-6)
        places = [
            LocalP(torch.tensor([[4.7]]).double(), 1, w)(self.SCORES, None).nonzero()[:, 3] for w in ("floor", "round")
        ]
        assert [p.tolist() for p in places] == [[3, 4, 5], [4, 5, 6]]

    def test_the_gradient_reaches_the_position(self) -> None:
        p = self.P.clone().requires_grad_()
        value = torch.arange(10, dtype=torch.float64)
        assert torch.autograd.gradcheck(lambda p: (LocalP(p, 2)(self.SCORES, None) * value).sum(), (p,))

    def test_radius(self) -> None:
        with pytest.raises(ValueError, match="`radius` must be at least 1, but is 0"):
            LocalP(self.P, 0)


def test_expected_is_a_probability() -> None:
    with pytest.raises(ValueError, match=r"`expected` is a probability, but is 1\.5\."):
        Sample(torch.Generator(), expected=1.5)
