"""Sampled attention: what is drawn, how often, its log-probability. (Its estimator: training/test_reinforce.py.)"""

import torch
from tests.attention.tables import MASKS, inputs
from torch import Tensor

from heedful.attention import Sample, attend, attend_drawn, dot, softmax

P = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
N = 20_000


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def scores(n: int = N) -> Tensor:
    return P.log().expand(n, 1, 1, 3).clone().requires_grad_()


def test_each_key_is_drawn_as_often_as_its_weight_says() -> None:
    shares = Sample(generator())(scores(), None).mean(dim=(0, 1, 2))
    standard_error = (P * (1 - P) / N).sqrt()
    assert ((shares - P).abs() < 4 * standard_error).all()


def test_log_probability_and_entropy_of_a_draw() -> None:
    draw = Sample(generator()).draw(scores(), None)
    torch.testing.assert_close(draw.log_p, (draw.weights * P.log()).sum(-1))
    torch.testing.assert_close(draw.entropy, -(P * P.log()).sum().expand(N, 1, 1))


def test_gradient_of_the_log_probability_is_the_draw_minus_the_weights() -> None:
    given = scores(50)
    draw = Sample(generator()).draw(given, None)
    (gradient,) = torch.autograd.grad(draw.log_p.sum(), given)
    torch.testing.assert_close(gradient, draw.weights - P)


def test_the_generator_alone_decides() -> None:
    first, second = (Sample(generator(7))(scores(99), None) for _ in range(2))
    assert torch.equal(first, second)
    torch.manual_seed(123)
    assert torch.equal(first, Sample(generator(7))(scores(99), None))
    assert not torch.equal(first, Sample(generator(8))(scores(99), None))


def test_without_one_the_global_generator_decides() -> None:
    draws = []
    for seed in (7, 7, 8):
        torch.manual_seed(seed)
        draws.append(Sample(None, expected=0.3)(scores(99), None))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_half_of_the_rows_keep_their_softmax_and_have_no_log_probability() -> None:
    draw = Sample(generator(), expected=0.5).draw(scores(), None)
    soft = (draw.weights - P).abs().amax(-1) < 1e-12
    assert abs(soft.double().mean().item() - 0.5) < 4 * 0.5 / N**0.5
    assert not draw.log_p[soft].any()
    assert draw.log_p[~soft].all()
    assert set(draw.weights[~soft].unique().tolist()) == {0.0, 1.0}


def test_empty_rows_draw_nothing() -> None:
    query, key, value = inputs(dtype=torch.float64)
    mask = MASKS["empty rows"]
    read = attend_drawn(query, key, value, score=dot, mask=mask, normalise=Sample(generator()))
    for part in (read.context, read.weights, read.log_p, read.entropy):
        assert not part[2].any()
        assert not part[1, :, 2].any()
        assert part[0].any()
    gradients = torch.autograd.grad(read.log_p.sum() + read.entropy.sum(), (query, key))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][2].any()


def test_attend_draws_the_same() -> None:
    query, key, value = inputs()
    drawn = attend_drawn(query, key, value, score=dot, normalise=Sample(generator()))
    read = attend(query, key, value, score=dot, normalise=Sample(generator()))
    assert read.weights is not None
    assert torch.equal(read.weights, drawn.weights)
    assert torch.equal(read.context, drawn.context)


def test_the_mean_of_many_contexts_is_soft_attention() -> None:
    query, key, value = (part.detach()[:1, :1] for part in inputs())
    many = [part.expand(8000, -1, -1, -1) for part in (query, key, value)]
    contexts = attend(*many, score=dot, normalise=Sample(generator())).context
    soft = attend(query, key, value, score=dot, normalise=softmax).context[0]
    assert ((contexts.mean(0) - soft).abs() < 4 * contexts.std(0) / 8000**0.5 + 1e-6).all()
