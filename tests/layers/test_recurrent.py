"""Recurrent layers over rows of different lengths: each row as if it were alone."""

import pytest
import torch
from torch import Tensor, nn

from heedful.layers.recurrent import recur

LENGTHS = (5, 0, 3, 1)
D, H = 3, 4


def cells(kind: type[nn.GRU] | type[nn.LSTM] = nn.GRU) -> nn.GRU | nn.LSTM:
    torch.manual_seed(0)
    return kind(D, H // 2, 2, batch_first=True, bidirectional=True).double()


def rows(extra: int = 0, filler: float = 0.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(len(LENGTHS), max(LENGTHS), D, generator=generator, dtype=torch.float64)
    x = nn.functional.pad(x, (0, 0, 0, extra))
    mask = torch.arange(x.shape[1]) < torch.tensor(LENGTHS)[:, None]
    return torch.where(mask[..., None], x, filler), mask


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_each_row_is_as_if_it_were_alone(kind: type[nn.GRU] | type[nn.LSTM]) -> None:
    """Torch's own result for one row without padding; zeros behind it."""
    some, (x, mask) = cells(kind), rows()
    states = recur(some, x, mask)
    for row, length in enumerate(LENGTHS):
        if length:
            torch.testing.assert_close(states[row, :length], some(x[row : row + 1, :length])[0][0])
        assert not states[row, length:].any()


@pytest.mark.parametrize("extra", [1, 7, 50])
def test_padding_changes_nothing(extra: int) -> None:
    some, (x, mask), (wide, wide_mask) = cells(), rows(), rows(extra, 9.0)
    torch.testing.assert_close(recur(some, wide, wide_mask)[:, : x.shape[1]], recur(some, x, mask))


def test_padding_has_no_gradient() -> None:
    x, mask = rows(2, 9.0)
    x.requires_grad_()
    recur(cells(), x, mask).square().sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad.any(dim=-1), mask)


def test_real_places_stand_first() -> None:
    x, mask = rows()
    with pytest.raises(ValueError, match="`mask` must be True for the first positions of each row, and then False"):
        recur(cells(), x, mask.flip(1))
