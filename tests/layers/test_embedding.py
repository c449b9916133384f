"""The embedding: its scale, its start, and one matrix with two uses."""

import pytest
import torch
from torch import nn

from heedful.layers.embedding import Embedding


@pytest.mark.parametrize(("scaled", "factor"), [(True, 4.0), (False, 1.0)])
def test_rows_times_the_root_of_the_width(scaled: bool, factor: float) -> None:
    embedding = Embedding(7, 16, scaled=scaled)
    ids = torch.tensor([[1, 6], [0, 1]])
    torch.testing.assert_close(embedding(ids), embedding.weight[ids] * factor)


def test_starts_at_unit_variance() -> None:
    torch.manual_seed(0)
    embedding = Embedding(500, 64, scaled=True)
    assert embedding(torch.arange(500)).square().mean().sqrt().item() == pytest.approx(1, abs=0.02)


def test_a_tied_matrix_gets_the_gradients_of_both_uses() -> None:
    embedding = Embedding(5, 4, scaled=True)
    ids = torch.tensor([[1, 2, 2]])
    linear = nn.functional.linear
    linear(embedding(ids), embedding.weight).square().sum().backward()
    read, write = (embedding.weight.detach().clone().requires_grad_() for _ in range(2))
    linear(read[ids] * 2.0, write).square().sum().backward()
    assert read.grad is not None
    assert write.grad is not None
    torch.testing.assert_close(embedding.weight.grad, read.grad + write.grad)
