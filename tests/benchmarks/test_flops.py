"""Operations by formula against counts by hand and against torch's own counter."""

import torch
from flops import Sizes, forward_flops, training_flops
from torch.utils.flop_counter import FlopCounterMode

from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig


def test_one_layer_by_hand() -> None:
    """One sentence of 3 source and 2 target tokens, d = 4, d_ff = 8, V = 10."""
    encoder = 3 * (4 * 16 + 2 * 32)  # four projections, two feed-forward matrices
    decoder = 2 * (6 * 16 + 2 * 32) + 3 * 2 * 16  # own attention, query and output; keys and values of the memory
    output = 2 * 4 * 10
    attention = 2 * 4 * (3 * 3 + 2 * 2 + 2 * 3)  # scores and weighted sums
    sizes = Sizes(d_model=4, d_ff=8, n_layers=1, vocabulary=10)
    assert forward_flops(sizes, [3], [2]) == 2 * (encoder + decoder + output + attention)
    assert training_flops(sizes, [3], [2]) == 3 * forward_flops(sizes, [3], [2])


def test_the_small_model_needs_156_gflop_a_step() -> None:
    """3,450 tokens a side: 6 operations for each of 7.55 million weights and each token, and a little attention."""
    sizes = Sizes(d_model=256, d_ff=1024, n_layers=3, vocabulary=8000)
    assert 156e9 < training_flops(sizes, [15] * 230, [15] * 230) < 160e9


def test_the_same_as_torch_counts() -> None:
    config = TransformerConfig(
        d_model=16, n_heads=2, d_ff=32, n_encoder_layers=2, n_decoder_layers=2, norm="post", activation="relu"
    )
    torch.manual_seed(1)
    model = build_model(config, 50, 50).eval()
    src, tgt = torch.randint(4, 50, (3, 7)), torch.randint(4, 50, (3, 5))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        hidden = model(src, torch.ones_like(src, dtype=torch.bool), tgt)
        torch.mm(hidden.flatten(0, 1), model.output_weight().T)
    expected = forward_flops(Sizes(16, 32, 2, 50), [7] * 3, [5] * 3)
    counted = counter.get_total_flops()
    attention = 2 * 2 * 2 * 16 * 3 * (49 + 25 + 35)
    assert counted in (expected, expected - attention)  # torch counts its fused kernel on a CPU as nothing
