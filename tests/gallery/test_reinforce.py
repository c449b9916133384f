"""REINFORCE against exact enumeration: three places with p = [.2, .5, .3] and p(y|s) = [.1, .6, .3]. [Xu 2015]"""

import pytest
import torch
from torch import Tensor

from heedful.attention import Sample
from heedful.gallery.pooling.reinforce import MovingBaseline, reinforce
from heedful.models.weights import weights_of

P = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
LOG_Y = torch.tensor([0.1, 0.6, 0.3], dtype=torch.float64).log()
BOUND = float(P @ LOG_Y)  # L_s, the mean reward
N = 20_000


def exact_gradient() -> Tensor:
    """d/d logits of sum_s p(s) log p(y|s) by autograd over the whole sum."""
    logits = P.log().requires_grad_()
    (gradient,) = torch.autograd.grad(logits.softmax(-1) @ LOG_Y, logits)
    return gradient


def estimates(baseline: float, seed: int = 0) -> Tensor:
    """The gradients of N items with one draw each: [N 3], signed as ascent."""
    scores = P.log().expand(N, 1, 1, 3).clone().requires_grad_()
    draw = Sample(torch.Generator().manual_seed(seed)).draw(scores, None)
    reward = (draw.weights * LOG_Y).sum(-1).flatten()
    loss = reinforce(reward.detach(), draw.log_p.flatten(), baseline)
    (gradient,) = torch.autograd.grad(-loss.sum(), scores)
    return gradient[:, 0, 0]


def total_variance(baseline: float) -> float:
    """The estimator's variance, summed over the logits, by enumeration of the three draws."""
    each = (LOG_Y - baseline)[:, None] * (torch.eye(3, dtype=torch.float64) - P)
    return float(P @ (each - P @ each).square().sum(-1))


def test_the_enumeration_itself() -> None:
    """The lower bound L_s, its gradient, and that of the log-marginal, which is another."""
    assert pytest.approx(-1.077122, abs=1e-6) == BOUND
    expected = torch.tensor([-0.245093, 0.283148, -0.038055]).double()
    torch.testing.assert_close(exact_gradient(), expected, atol=1e-6, rtol=0)
    marginal = float((P @ LOG_Y.exp()).log())
    assert marginal == pytest.approx(-0.891598, abs=1e-6)
    assert marginal >= BOUND
    assert total_variance(0.0) == pytest.approx(1.286255, abs=1e-6)
    assert total_variance(BOUND) == pytest.approx(0.217350, abs=1e-6)


@pytest.mark.parametrize("baseline", [0.0, BOUND, -5.0])
def test_is_unbiased_whatever_the_baseline(baseline: float) -> None:
    found = estimates(baseline)
    standard_error = found.std(0) / N**0.5
    assert ((found.mean(0) - exact_gradient()).abs() < 4 * standard_error).all()


def test_the_baseline_lowers_the_variance() -> None:
    without, with_it = (float(estimates(b).var(0).sum()) for b in (0.0, BOUND))
    assert without == pytest.approx(1.286255, rel=0.05)
    assert with_it == pytest.approx(0.217350, rel=0.05)


def test_the_running_baseline() -> None:
    """b = 0.9 b + 0.1 mean: before the n-th batch of rewards -1 it is -(1 - 0.9^(n - 1))."""
    baseline = MovingBaseline()
    for n in range(8):
        assert float(baseline(torch.tensor([-0.5, -1.5]))) == pytest.approx(-(1 - 0.9**n))


def test_the_baseline_moves_in_training_alone() -> None:
    baseline = MovingBaseline().eval()
    assert float(baseline(torch.tensor([-3.0]))) == float(baseline(torch.tensor([-3.0]))) == 0.0


def test_the_baseline_is_kept_with_the_weights_and_no_gradient_moves_it() -> None:
    baseline = MovingBaseline()
    baseline(torch.tensor([-10.0]))
    assert weights_of(baseline) == {"value": torch.tensor(-1.0)}
    assert not baseline.value.requires_grad


def test_the_running_baseline_comes_near_the_mean_reward() -> None:
    draws = torch.multinomial(P, 400 * 50, replacement=True, generator=torch.Generator().manual_seed(0)).view(400, 50)
    baseline = MovingBaseline()
    for batch in draws:
        baseline(LOG_Y[batch])
    assert float(baseline.value) == pytest.approx(BOUND, abs=0.1)


def test_the_terms() -> None:
    """Reward (-1, -3), log p (-0.5, -2), b = -2: advantages 1 and -1, worked out by hand, gradients too."""
    reward = torch.tensor([-1.0, -3], requires_grad=True)
    log_p = torch.tensor([-0.5, -2], requires_grad=True)
    loss = reinforce(reward, log_p, -2.0)
    assert loss.tolist() == [0.5, -2.0]
    loss.sum().backward()
    assert reward.grad is None  # nothing through the advantage
    assert log_p.grad is not None
    assert log_p.grad.tolist() == [-1.0, 1.0]
