"""Restricted self-attention in blocks equals the masked table, forward and backward, and its cost is linear."""

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from heedful.attention import Additive, GatherTop, Mask, Score, TopK, attend, scaled_dot, softmax
from heedful.layers.banded import banded_attention, blocks_win, restricted_attention

B, H, E = 2, 2, 4
LENGTHS = {"one block": (5, 2), "whole blocks": (30, 3), "a part": (31, 3), "radius 1": (17, 1), "large": (200, 7)}
SIZES = pytest.mark.parametrize(("length", "radius"), LENGTHS.values(), ids=LENGTHS.keys())


def inputs(length: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    made = [torch.randn(B, H, length, width, generator=generator, dtype=torch.float64) for width in (E, E, E + 1)]
    query, key, value = (part.requires_grad_() for part in made)
    return query, key, value


def padding(length: int) -> Mask:
    """The second sentence ends at two thirds, so that its last queries may see nothing at all."""
    return Mask.key_padding(torch.arange(length) < torch.tensor([[length], [length * 2 // 3]]))


def masked(parts: tuple[Tensor, Tensor, Tensor], radius: int, mask: Mask | None, **slots) -> Tensor:
    length = parts[0].shape[2]
    window = Mask.around(torch.arange(length), radius, length)
    return attend(*parts, mask=window if mask is None else window & mask, **slots).context


@SIZES
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "whole"])
def test_equals_the_masked_table_forward_and_backward(length: int, radius: int, padded: bool) -> None:
    mask = padding(length) if padded else None
    found = []
    for banded in (True, False):
        parts = inputs(length)
        context = (
            banded_attention(*parts, radius, mask=mask).context
            if banded
            else masked(parts, radius, mask, score=scaled_dot)
        )
        found.append([context, *torch.autograd.grad(context.pow(3).sum(), parts)])
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("slots", [{"score": "additive"}, {"normalise": TopK(2)}], ids=["additive", "top 2"])
def test_the_other_slots_work_block_by_block(slots: dict) -> None:
    torch.manual_seed(0)
    score: Score = Additive(E, E, 3).double() if "score" in slots else scaled_dot
    normalise = slots.get("normalise", softmax)
    parts, mask = inputs(40), padding(40)
    ours = banded_attention(*parts, 3, mask=mask, score=score, normalise=normalise).context
    torch.testing.assert_close(ours, masked(parts, 3, mask, score=score, normalise=normalise))


def test_a_window_over_everything_is_full_attention() -> None:
    parts = inputs(9)
    full = attend(*parts, score=scaled_dot).context
    for radius in (8, 9, 100):
        for path in (banded_attention, restricted_attention):
            torch.testing.assert_close(path(*parts, radius).context, full)


def test_a_window_of_nothing_else_is_the_value_itself() -> None:
    parts = inputs(12)
    for path in (banded_attention, restricted_attention):
        torch.testing.assert_close(path(*parts, 0).context, parts[2])


@pytest.mark.parametrize(("length", "radius"), [(40, 3), (200, 3), (200, 60)])
def test_whichever_way_is_taken_the_result_is_the_same(length: int, radius: int) -> None:
    parts, mask = inputs(length), padding(length)
    context = restricted_attention(*parts, radius, mask=mask).context
    torch.testing.assert_close(context, masked(parts, radius, mask, score=scaled_dot))
    assert blocks_win(length, radius) is ((length, radius) == (200, 3))


def test_cost_is_linear_in_length() -> None:
    """Counted multiply-adds: twice the length, twice the cost; the full table's cost is four times."""

    def flops(length: int, radius: int | None) -> int:
        parts = [part.detach().float() for part in inputs(length)]
        with FlopCounterMode(display=False) as counter:
            if radius is None:
                attend(*parts, score=scaled_dot)
            else:
                banded_attention(*parts, radius, score=lambda q, k: scaled_dot(q, k))
        return counter.get_total_flops()

    assert flops(800, 5) == 2 * flops(400, 5)
    assert flops(800, None) == 4 * flops(400, None)
    assert flops(800, 5) == 2 * H * B * 800 * (3 * 5) * (E + E + 1)


def test_a_mask_of_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`mask` must hide keys, \[B, 1, 1, 30\], but is \[1, 1, 30, 30\]\."):
        banded_attention(*inputs(30), 2, mask=Mask.causal(30, 30, offset=0))


@pytest.mark.parametrize("length", [40, 200])
def test_dropout_is_of_the_weights(length: int) -> None:
    """Of values that are all 1, each query reads the sum of its weights: 1 on average, and no longer always."""
    query, key, value = inputs(length)
    torch.manual_seed(0)
    sums = restricted_attention(query, key, torch.ones_like(value), 3, dropout=0.3).context.detach()
    assert 0.9 < float(sums.mean()) < 1.1
    assert float(sums.std()) > 0.1


@pytest.mark.parametrize("length", [40, 200])
def test_a_bias_and_another_aggregate_are_of_the_whole_table(length: int) -> None:
    """Where blocks would be quicker, too: they know no distances."""
    parts, mask = inputs(length), padding(length)
    generator = torch.Generator().manual_seed(1)
    bias = torch.randn(1, H, length, length, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(
        restricted_attention(*parts, 3, mask=mask, bias=bias).context,
        masked(parts, 3, mask, score=scaled_dot, bias=bias),
    )
    torch.testing.assert_close(
        restricted_attention(*parts, 3, mask=mask, aggregate=GatherTop(1)).context,
        masked(parts, 3, mask, score=scaled_dot, aggregate=GatherTop(1)),
    )
