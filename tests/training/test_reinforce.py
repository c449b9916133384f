"""REINFORCE against exact enumeration: three places with p = [.2, .5, .3] and p(y|s) = [.1, .6, .3]. [Xu 2015]"""

import pytest
import torch
from torch import Tensor

from heedful.attention import Sample
from heedful.training.reinforce import Baseline, reinforce

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
    loss = reinforce(reward.detach(), draw.log_p.flatten(), draw.entropy.flatten(), baseline)
    (gradient,) = torch.autograd.grad(-loss, scores)
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
    """b = 0.9 b + 0.1 mean: from 0 with reward -1 it is -(1 - 0.9^n)."""
    baseline = Baseline()
    for n in range(1, 8):
        baseline = baseline.update(torch.tensor([-0.5, -1.5]))
        assert baseline.value == pytest.approx(-(1 - 0.9**n))


def test_the_running_baseline_comes_near_the_mean_reward() -> None:
    draws = torch.multinomial(P, 400 * 50, replacement=True, generator=torch.Generator().manual_seed(0)).view(400, 50)
    baseline = Baseline()
    for batch in draws:
        baseline = baseline.update(LOG_Y[batch])
    assert baseline.value == pytest.approx(BOUND, abs=0.1)


def test_the_terms() -> None:
    """Reward (-1, -3), log p (-0.5, -2), entropy (0.3, 0.4), b = -2: worked out by hand, gradients too."""
    reward = torch.tensor([-1.0, -3], requires_grad=True)
    log_p = torch.tensor([-0.5, -2], requires_grad=True)
    entropy = torch.tensor([0.3, 0.4], requires_grad=True)
    loss = reinforce(reward, log_p, entropy, -2.0, reward_weight=0.5, entropy_weight=0.1)
    loss.backward()
    # rewards -4; advantages 1 and -1 times 0.5 times log p: -0.25 and 1; entropies 0.07
    assert loss.item() == pytest.approx(-(-4 - 0.25 + 1 + 0.07))
    assert reward.grad is not None
    assert reward.grad.tolist() == [-1, -1]  # nothing through the advantage
    assert log_p.grad is not None
    assert log_p.grad.tolist() == [-0.5, 0.5]
    assert entropy.grad is not None
    assert entropy.grad.tolist() == pytest.approx([-0.1, -0.1])


def test_the_entropy_term_keeps_the_draws_spread() -> None:
    """Ascent on the entropy alone leads to equal probabilities."""
    scores = torch.tensor([2.0, 0, -1]).view(1, 1, 1, 3).requires_grad_()
    sample = Sample(torch.Generator().manual_seed(0))
    zero = torch.zeros(1)
    for _ in range(200):
        draw = sample.draw(scores, None)
        loss = reinforce(zero, draw.log_p.flatten(), draw.entropy.flatten(), 0.0, entropy_weight=1.0)
        (gradient,) = torch.autograd.grad(loss, scores)
        scores = (scores - 0.5 * gradient).detach().requires_grad_()
    torch.testing.assert_close(scores.softmax(-1).flatten(), torch.full((3,), 1 / 3), atol=0.02, rtol=0)
