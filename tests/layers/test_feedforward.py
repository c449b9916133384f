"""The feed-forward network: Eq. 2 by hand, and each position for itself."""

import pytest
import torch
from torch import nn

from heedful.layers.feedforward import FeedForward


def test_by_hand() -> None:
    """max(0, [1, -2] W_1 + b_1) W_2 + b_2 with W_1 = [[1, 0, 2], [0, 1, 1]]."""
    network = FeedForward(2, 3, "relu", 0.0)
    with torch.no_grad():
        network.widen.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [2, 1]]))
        network.widen.bias.copy_(torch.tensor([0.5, 1.0, 0.0]))
        network.narrow.weight.copy_(torch.tensor([[1.0, 10, 100], [0, 1, 2]]))
        network.narrow.bias.copy_(torch.tensor([0.25, -1.0]))
    # widened [1.5, -1, 0], so [1.5, 0, 0]; narrowed [1.5 + 0.25, 0 - 1]
    assert network(torch.tensor([[[1.0, -2.0]]])).tolist() == [[[1.75, -1.0]]]


@pytest.mark.parametrize(("activation", "theirs"), [("relu", nn.ReLU()), ("gelu", nn.GELU()), ("swish", nn.SiLU())])
def test_activation(activation, theirs: nn.Module) -> None:
    network = FeedForward(4, 8, activation, 0.0)
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(network(x), network.narrow(theirs(network.widen(x))))


def test_each_position_alone() -> None:
    torch.manual_seed(0)
    network = FeedForward(4, 8, "relu", 0.0)
    x = torch.randn(1, 5, 4)
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(network(x[:, order]), network(x)[:, order])
    moved = x.clone()
    moved[0, 2] += 1
    changed = (network(moved) != network(x)).any(-1)[0]
    assert changed.tolist() == [False, False, True, False, False]
