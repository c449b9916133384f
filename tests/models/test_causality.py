"""Causality by gradient: what a position predicts depends on each target token up to it, and on none after it."""

from collections.abc import Mapping

import torch
from tests.models.tiny import EVERY_VARIANT, batch_of, tiny_model
from torch import Tensor, nn

from heedful.models.transformer import Transformer


def slopes(model: Transformer, length: int) -> Tensor:
    """|d hidden[i] / d target_embedding[j]| for all i, j."""
    batch = batch_of([([5, 6, 7], [5, 6, 7, 8, 9][: length - 1])])
    memory = model.encode(batch.src, batch.src_mask)
    taken: list[Tensor] = []

    def keep(_module: nn.Module, _ids: tuple[Tensor, ...], embedded: Tensor) -> Tensor:
        taken.append(embedded.detach().requires_grad_())
        return taken[0]

    with model.embed_target.register_forward_hook(keep):
        hidden = model.decode(memory, batch.tgt_in)
    direction = torch.linspace(-1, 2, hidden.shape[-1], dtype=hidden.dtype)
    rows = [
        torch.autograd.grad((hidden[0, i] * direction).sum(), taken[0], retain_graph=True)[0] for i in range(length)
    ]
    return torch.stack(rows)[:, 0].abs().sum(-1)


@EVERY_VARIANT
def test_exactly_the_past(variant: Mapping[str, object]) -> None:
    found = slopes(tiny_model(variant), 6)
    past = torch.ones(6, 6, dtype=torch.bool).tril()
    assert (found[past] > 0).all()
    assert (found[~past] == 0).all()


@EVERY_VARIANT
def test_every_position_reads_every_real_source_token(variant: Mapping[str, object]) -> None:
    model, batch = tiny_model(variant), batch_of([([5, 6, 7], [5, 6]), ([8], [5])])
    memory = model.encode(batch.src, batch.src_mask)
    values = memory.values.detach().requires_grad_()
    hidden = model.decode(memory._replace(values=values), batch.tgt_in)
    direction = torch.linspace(-1, 2, hidden.shape[-1], dtype=hidden.dtype)
    for position in range(3):
        (slope,) = torch.autograd.grad((hidden[:, position] * direction).sum(), values, retain_graph=True)
        assert torch.equal(slope.abs().sum(-1) > 0, batch.src_mask)
