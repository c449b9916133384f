"""The loop that people write around a model of their own: Adam, clipping, one learning rate an update."""

from collections.abc import Callable, Iterable

import torch
from clock import Update, learning_rate
from torch import Tensor, nn


def plain_update(
    loss_of: Callable[[Tensor, Tensor, Tensor], Tensor], parameters: Iterable[nn.Parameter], sizes: dict, *, fused: bool
) -> Update:
    """An update from `loss_of`, which gives the mean smoothed loss of a batch's target tokens."""
    chosen = [parameter for parameter in dict.fromkeys(parameters) if parameter.requires_grad]
    optimizer = torch.optim.Adam(chosen, lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=fused)
    count = 0

    def update(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
        nonlocal count
        count += 1
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(count, sizes)
        loss = loss_of(src, tgt_in, tgt_out)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(chosen, sizes["clip_norm"])
        optimizer.step()
        return loss.item()

    return update
