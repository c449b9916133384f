"""ConvS2S by hand: a layer of each side written out in sums over channels and places."""

import math

import torch
from tests.models.rivals import rival
from tests.models.tiny import PAIRS, batch_of
from torch import Tensor

from heedful.models.convs2s import ConvDecoderLayer, ConvEncoderLayer, ConvMemory, ConvS2S
from heedful.models.interface import Memory
from heedful.models.recording import recorded_maps
from heedful.text.vocabulary import BOS, EOS

BATCH = batch_of(PAIRS)


def made() -> ConvS2S:
    model = rival("convs2s")
    assert isinstance(model, ConvS2S)
    return model


def gated(layer: ConvEncoderLayer | ConvDecoderLayer, window: Tensor) -> Tensor:
    """A * sigmoid(B) of one window [k C]: channel o is b_o + sum over places p and channels c of w[o, c, p] x[p, c]."""
    weight, bias = layer.gated.convolution.weight, layer.gated.convolution.bias
    assert bias is not None
    both = torch.stack([bias[o] + (weight[o].T * window).sum() for o in range(len(weight))])
    half = len(both) // 2
    return both[:half] / (1 + (-both[half:]).exp())


def test_encoder_layer_by_hand() -> None:
    """Nothing beyond either end, nor in the padding; (v + x) sqrt(1/2)."""
    layer = next(iter(made().encoder))
    x = torch.randn(1, 5, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    real = torch.tensor([[True, True, True, False, False]])
    found = layer(x, real[:, :, None])
    nothing = torch.zeros(10, dtype=torch.float64)
    places = [nothing, *x[0, :3], nothing]
    expected = [(gated(layer, torch.stack(places[t : t + 3])) + x[0, t]) / math.sqrt(2) for t in range(3)]
    torch.testing.assert_close(found[0, :3], torch.stack(expected))


def test_decoder_layer_by_hand() -> None:
    """d_i = W_d h_i + b_d + g_i; a_ij = softmax_j(d_i . z_j), not scaled; c_i = m sqrt(1/m) sum_j a_ij (z_j + e_j)."""
    layer = next(iter(made().decoder))
    generator = torch.Generator().manual_seed(2)
    x, g, z, e = (
        torch.randn(1, length, width, dtype=torch.float64, generator=generator)
        for length, width in ((4, 10), (4, 12), (5, 12), (5, 12))
    )
    mask = torch.tensor([[True, True, True, False, False]])  # m = 3
    source = ConvMemory.of(Memory(torch.cat([z, z + e], dim=-1), mask))
    found, left, weights = layer(x, layer.nothing(1, x), g, source)
    nothing = torch.zeros(10, dtype=torch.float64)
    places, rows = [nothing, nothing, *x[0]], []
    for t in range(4):
        h = gated(layer, torch.stack(places[t : t + 3]))
        d = layer.project_query.weight @ h + layer.project_query.bias + g[0, t]
        scores = [(d @ z[0, j]).exp() for j in range(3)]
        a = [score / torch.stack(scores).sum() for score in scores]
        context = 3 * math.sqrt(1 / 3) * torch.stack([a[j] * (z[0, j] + e[0, j]) for j in range(3)]).sum(dim=0)
        h = (h + layer.project_context.weight @ context + layer.project_context.bias) / math.sqrt(2)
        rows.append((h + x[0, t]) / math.sqrt(2))
        assert weights is not None
        torch.testing.assert_close(weights[0, 0, t, :3], torch.stack(a))
        assert not weights[0, 0, t, 3:].any()
    torch.testing.assert_close(found[0], torch.stack(rows))
    assert torch.equal(left, x[:, -2:])


def test_values_are_keys_and_embeddings() -> None:
    model = made()
    memory = model.encode(BATCH.src, BATCH.src_mask)
    keys, values = memory.values.chunk(2, dim=-1)
    embedded = model.embed_source(BATCH.src) + model.source_positions(BATCH.src.shape[1])
    torch.testing.assert_close(values - keys, embedded)
    assert memory.values.shape[-1] == model.memory_width == 24


def test_a_source_sees_so_far_and_no_further() -> None:
    """A key depends on L (k - 1) / 2 tokens on either side: 1 + L (k - 1) in all."""
    model = made()
    src = torch.full((1, 15), 5)
    mask = torch.ones_like(src, dtype=torch.bool)
    base = model.encode(src, mask).values[0, :, :12]
    for place in (0, 7, 14):
        changed = src.clone()
        changed[0, place] = 6
        moved = (model.encode(changed, mask).values[0, :, :12] != base).any(dim=-1)
        assert torch.equal(moved, (torch.arange(15) - place).abs() <= 2)


def test_longest() -> None:
    assert made().longest == 1024


def test_only_the_uppermost_layer_may_attend() -> None:
    model = rival("convs2s, top")
    src = torch.tensor([[5, 6, 7, EOS]])
    with recorded_maps(model) as maps:
        model.decode(model.encode(src, torch.ones_like(src, dtype=torch.bool)), torch.tensor([[BOS, 5]]))
    assert [one.name for one in maps] == ["decoder.2.cross"]
