"""Pictures of whole models and of layers: what an output depends on, before any training; paths, schedules, gates."""

from collections.abc import Callable

import torch
from panels import SEED, Axis, numbers, table
from torch import Tensor

from heedful.attention import MultiHeadAttention
from heedful.gallery.layers.gates import SpatialGate
from heedful.inspection.complexity import complexity
from heedful.layers.position import sinusoids
from heedful.models.convs2s import ConvEncoderLayer
from heedful.models.convs2s_config import ConvS2SConfig
from heedful.models.encoders import RecurrentEncoder
from heedful.training.config import Exponential, InverseSigmoid, Linear
from heedful.training.scheduled_sampling import p_gold

GRADIENT = "size of gradient"


def rnn() -> str:
    """What the last state has kept."""
    torch.manual_seed(SEED)
    encoder = RecurrentEncoder(16, 16, bidirectional=False)
    rows, visible = torch.zeros(3, 12), torch.zeros(3, 12, dtype=torch.bool)
    for row, length in enumerate((4, 8, 12)):
        rows[row, :length] = _felt(lambda x: _states(encoder, x)[0, -1], torch.randn(1, length, 16))
        visible[row, :length] = True
    return table(
        rows,
        Axis(["4 words", "8 words", "12 words"], "sentence"),
        Axis(numbers(12), "word"),
        "what c keeps of each word",
        visible,
        GRADIENT,
    )


def convs2s() -> str:
    """The receptive field of stacks of one to five layers."""
    torch.manual_seed(SEED)
    layers = [ConvEncoderLayer(ConvS2SConfig(d_hidden=16, kernel=3, dropout=0.0)).eval() for _ in range(5)]
    real = torch.ones(1, 13, 1, dtype=torch.bool)
    rows = []
    for depth in range(1, 6):

        def middle(x: Tensor, depth: int = depth) -> Tensor:
            for layer in layers[:depth]:
                x = layer(x, real)
            return x[0, 6]

        rows.append(_felt(middle, torch.randn(1, 13, 16)))
    felt = torch.stack(rows)
    return table(
        felt,
        Axis([f"{n} layers" for n in numbers(5)], "depth"),
        Axis(numbers(13, -6), "place, from the middle word"),
        "what the middle word sees",
        felt > 0,
        GRADIENT,
    )


def ctc() -> str:
    """The share of paths that have each label at each place: the gradient of the loss, as it is defined."""
    log_p = torch.full((10, 1, 3), 1 / 3).log().requires_grad_()
    torch.nn.functional.ctc_loss(
        log_p, torch.tensor([[1, 2, 1]]), torch.tensor([10]), torch.tensor([3]), reduction="sum"
    ).backward()
    assert log_p.grad is not None
    share = (log_p.detach().exp() - log_p.grad)[:, 0].T
    return table(
        share,
        Axis(["blank", "a", "b"], "label"),
        Axis(numbers(10), "frame"),
        "all paths to a b a",
        unit="share of paths",
    )


def tagging() -> str:
    """What each label depends on."""
    torch.manual_seed(SEED)
    encoder = RecurrentEncoder(16, 16)
    words = ["the", "old", "man", "the", "boats", "again"]
    x = torch.randn(1, len(words), 16)
    rows = [_felt(lambda x, place=place: _states(encoder, x)[0, place], x) for place in range(len(words))]
    return table(
        torch.stack(rows), Axis(words, "label of"), Axis(words, "word"), "what each label depends on", unit=GRADIENT
    )


def scheduled_sampling() -> str:
    """p_gold of three schedules."""
    updates = torch.arange(0, 5001, 250)
    schedules = {
        "linear": Linear(c=1 / 5000),
        "exponential": Exponential(k=0.9994),
        "inverse sigmoid": InverseSigmoid(k=500),
    }
    rows = torch.tensor([[p_gold(curve, update) for update in updates.tolist()] for curve in schedules.values()])
    columns = [str(update) for update in updates.tolist()]
    return table(rows, Axis(list(schedules), "schedule"), Axis(columns, "update"), "p_gold by update", unit="p_gold")


def architectures() -> str:
    """Longest paths."""
    lengths = (8, 16, 32, 64, 128)
    costs = [complexity(n, 8, 3, 5) for n in lengths]
    rows = torch.tensor(
        [[cost[kind].longest_path / n for cost, n in zip(costs, lengths, strict=True)] for kind in range(4)]
    )
    layers = [row.layer for row in costs[0]]
    return table(
        rows,
        Axis(layers, "layer"),
        Axis([str(n) for n in lengths], "length n"),
        "longest path, as a share of the length",
        unit="path / n",
    )


def gates() -> str:
    """A patch that the spatial gate finds."""
    gate = SpatialGate()
    torch.nn.init.constant_(gate.convolve.weight, 0.25)
    x = torch.full((1, 4, 11, 11), -0.3)
    x[:, :, 3:6, 6:9] = 3.0
    return table(
        gate.multiplier(x)[0, 0],
        Axis(numbers(11), "row"),
        Axis(numbers(11), "column"),
        "a gate over a picture",
        unit="gate",
    )


def multi_head() -> str:
    """A head on positions alone."""
    attention = MultiHeadAttention(32, 1)
    with torch.no_grad():
        for projection in (attention.project_query, attention.project_key):
            projection.weight.copy_(torch.eye(32))
    x = sinusoids(10, 32, "sinusoidal")[None].float()
    read = attention(x, attention.project(x), weights=True)
    assert read.weights is not None
    return table(
        read.weights[0, 0], Axis(numbers(10), "query"), Axis(numbers(10), "key"), "positions find their neighbours"
    )


def _states(encoder: RecurrentEncoder, x: Tensor) -> Tensor:
    return encoder(x, torch.ones(x.shape[:2], dtype=torch.bool))[-1]


def _felt(vector: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """How much a vector depends on each place of x [1 S D]: the size of the gradient, the largest 1."""
    jacobian = torch.autograd.functional.jacobian(vector, x)
    assert isinstance(jacobian, Tensor)
    size = jacobian.square().sum(dim=(0, 1, 3)).sqrt()
    return size / size.max()
