"""Residual and norm, in both orders."""

import pytest
import torch
from torch import Tensor

from heedful.layers.sublayer import Sublayer


def layer_norm(x: Tensor, epsilon: float) -> Tensor:
    """Over features, with the biased variance."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + epsilon).sqrt()


def double(x: Tensor) -> Tensor:
    return 2 * x + 1


X = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("epsilon", [1e-5, 0.1])
def test_post(epsilon: float) -> None:
    torch.testing.assert_close(Sublayer(8, "post", epsilon, 0.0)(X, double), layer_norm(X + double(X), epsilon))


@pytest.mark.parametrize("epsilon", [1e-5, 0.1])
def test_pre(epsilon: float) -> None:
    torch.testing.assert_close(Sublayer(8, "pre", epsilon, 0.0)(X, double), X + double(layer_norm(X, epsilon)))


def test_dropout_falls_on_the_function_not_on_the_residual() -> None:
    torch.manual_seed(0)
    change = Sublayer(8, "pre", 1e-5, 0.5)(X, torch.ones_like) - X
    assert set(change.unique().round(decimals=4).tolist()) == {0.0, 2.0}
