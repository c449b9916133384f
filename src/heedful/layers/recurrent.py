"""Recurrent layers over sequences of different lengths, side by side. Knows no words and no model."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def recur(cells: nn.GRU | nn.LSTM, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S H"]:
    """Return the states of the top layer, both directions concatenated where there are two; zero where `mask` is False.

    Going backward starts at the last real place of each row. A row may be empty. `cells` must be `batch_first`. Raises
    ValueError unless the real positions of each row stand first.
    """
    lengths = mask.sum(dim=1)
    if not torch.equal(mask, torch.arange(x.shape[1], device=x.device) < lengths[:, None]):
        raise ValueError("`mask` must be True for the first positions of each row, and then False.")
    packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(cells(packed)[0], batch_first=True, total_length=x.shape[1])
    return states * mask[..., None] if not lengths.all() else states
