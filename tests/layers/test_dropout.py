"""Dropout: how often, how much, and its gradient."""

import pytest
import torch

from heedful.layers.dropout import Dropout

SIZE = 200_001  # no multiple of four


@pytest.mark.parametrize("p", [0.0001, 0.1, 0.3, 0.5, 0.9])
class TestStatistics:
    def test_share_and_scale(self, p: float) -> None:
        torch.manual_seed(0)
        y = Dropout(p)(torch.ones(SIZE))
        deviation = (p * (1 - p) / SIZE) ** 0.5
        assert (y == 0).float().mean().item() == pytest.approx(p, abs=4 * deviation + 2**-17)
        assert len(y.unique()) == 2
        assert y.max().item() == pytest.approx(1 / (1 - p), rel=1e-3)

    def test_neighbours_are_independent(self, p: float) -> None:
        """Four elements share a random word, so dropping one must say nothing about the next ones."""
        torch.manual_seed(1)
        dropped = (Dropout(p)(torch.ones(SIZE)) == 0).double()
        for distance in (1, 2, 3, 4):
            both = (dropped[distance:] * dropped[:-distance]).mean().item()
            assert both == pytest.approx(p * p, abs=5 * (p * p / SIZE) ** 0.5 + 1e-6)


def test_gradient_is_that_of_the_elements_that_stay() -> None:
    torch.manual_seed(0)
    x = torch.randn(7, 11, dtype=torch.float64, requires_grad=True)
    y = Dropout(0.4)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(y, x * gradient)
    assert set(gradient.unique().tolist()) == {0.0, gradient.max().item()}
    assert gradient.max().item() == pytest.approx(1 / 0.6, rel=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_keeps_shape_and_type(dtype: torch.dtype) -> None:
    x = torch.ones(3, 5, 2, dtype=dtype).transpose(0, 2)
    y = Dropout(0.5)(x)
    assert (y.shape, y.dtype) == (x.shape, dtype)


def test_the_seed_decides() -> None:
    def draw(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return Dropout(0.5)(torch.ones(100))

    assert torch.equal(draw(3), draw(3))
    assert not torch.equal(draw(3), draw(4))


def test_nothing_happens_in_eval_or_without_probability() -> None:
    x = torch.randn(10)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5])
def test_probability_is_below_one(p: float) -> None:
    with pytest.raises(ValueError, match=f"`p` is a probability below 1, but is {p}."):
        Dropout(p)


def test_a_probability_next_to_one() -> None:
    """What rounds to 1 in 16 bits would leave nothing to scale."""
    assert Dropout(1 - 1e-7)(torch.ones(1000)).isfinite().all()
