"""Gates: the formulas by hand, and what makes them gates: they rescale by numbers in (0, 1) and aggregate nothing."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from heedful.gallery.layers.gates import ChannelGate, Gate, MixedGate, SpatialGate

GATES: dict[str, Callable[[], Gate]] = {
    "channel, SE": lambda: ChannelGate(8, reduction=4),
    "channel, CBAM": lambda: ChannelGate(8, reduction=4, pools=("mean", "max")),
    "spatial": SpatialGate,
    "mixed": lambda: MixedGate(ChannelGate(8, 4, ("mean", "max")), SpatialGate()),
}
SHAPES = {"channel, SE": (2, 8, 1, 1), "channel, CBAM": (2, 8, 1, 1), "spatial": (2, 1, 5, 6), "mixed": (2, 8, 5, 6)}


def picture(seed: int = 0) -> Tensor:
    made = torch.randn(2, 8, 5, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.requires_grad_()


@pytest.fixture(params=GATES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def built(name: str) -> Gate:
    torch.manual_seed(0)
    return GATES[name]().double()


def test_rescales_and_keeps_the_shape(name: str) -> None:
    gate, x = built(name), picture()
    factor = gate.multiplier(x)
    assert factor.shape == SHAPES[name]
    assert ((factor > 0) & (factor < 1)).all()
    torch.testing.assert_close(gate(x), x * factor)


def test_factors_do_not_sum_to_one(name: str) -> None:
    """They are sigmoids: with weights of zero each is one half, however many there are."""
    gate = built(name)
    for parameter in gate.parameters():
        nn.init.zeros_(parameter)
    half = 0.25 if name == "mixed" else 0.5
    assert (gate.multiplier(picture()) == half).all()


def test_gradients_by_finite_differences(name: str) -> None:
    gate = built(name)
    assert torch.autograd.gradcheck(lambda x, *_: gate(x), (picture(), *gate.parameters()), fast_mode=True)


def test_channel_by_hand() -> None:
    """Two channels with means 1 and 2 (maxima 4 and 2), W_1 = [1, -1/4], W_2 = [2, -1]: relu(1 - .5) = .5."""
    x = torch.tensor([[[[4.0, 0], [0, 0]], [[2, 2], [2, 2]]]])
    for pools, hidden in ((("mean",), 0.5), (("mean", "max"), 0.5 + 3.5)):
        gate = ChannelGate(2, reduction=2, pools=pools)
        with torch.no_grad():
            gate.inner.weight.copy_(torch.tensor([[1.0, -0.25]]))
            gate.outer.weight.copy_(torch.tensor([[2.0], [-1.0]]))
        expected = torch.sigmoid(torch.tensor([2.0 * hidden, -hidden]))
        torch.testing.assert_close(gate.multiplier(x).flatten(), expected)


def test_spatial_by_hand() -> None:
    """A filter that looks at the place alone: .5 of the mean and -1 of the maximum over channels."""
    gate = SpatialGate(kernel=3)
    with torch.no_grad():
        gate.convolve.weight.zero_()
        gate.convolve.weight[0, :, 1, 1] = torch.tensor([0.5, -1.0])
    x = torch.tensor([[[[1.0, 5]], [[3, -5]]]])
    expected = torch.sigmoid(torch.tensor([[0.5 * 2 - 3, 0.0 - 5]]))
    torch.testing.assert_close(gate.multiplier(x)[0, 0], expected)


def test_mixed_is_channels_first_then_places() -> None:
    gate, x = built("mixed"), picture()
    assert isinstance(gate, MixedGate)
    torch.testing.assert_close(gate(x), gate.spatial(gate.channel(x)))
    assert not torch.allclose(gate(x), gate.channel(gate.spatial(x)))


def test_spatial_moves_with_the_picture() -> None:
    gate, x = built("spatial"), nn.functional.pad(picture(), (8, 8, 8, 8))
    moved = x.roll((2, 3), (2, 3))
    torch.testing.assert_close(gate.multiplier(moved), gate.multiplier(x).roll((2, 3), (2, 3)))


def test_kernel_is_odd() -> None:
    with pytest.raises(ValueError, match="`kernel` must be odd, so that positions stay aligned, but is 4"):
        SpatialGate(4)


def test_a_channel_gate_finds_the_one_that_matters() -> None:
    """The class is the sign of one channel of eight, the one whose mean is raised; the gate learns to open for it."""
    torch.manual_seed(0)
    gate, head = ChannelGate(8, reduction=1), nn.Linear(4, 2)
    optimizer = torch.optim.Adam([*gate.parameters(), *head.parameters()], lr=0.02)
    for _ in range(250):
        x = torch.randn(64, 8, 2, 2)
        which, y = torch.randint(8, (64,)), torch.randint(2, (64,))
        x[torch.arange(64), which] += 3.0
        x[torch.arange(64), which, 0, 0] = 3 + 6.0 * (2 * y - 1)
        loss = nn.functional.cross_entropy(head(gate(x).sum(1).flatten(1)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    hits = (gate.multiplier(x).flatten(1).argmax(1) == which).float().mean()
    assert hits > 0.8  # by chance 1 / 8
