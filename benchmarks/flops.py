"""Floating-point operations of an encoder-decoder Transformer, by formula. Knows no framework.

A product of [m k] and [k n] is 2 m k n operations. Counted are all matrix products of real tokens, attention's two
included (over whole rows, no causal saving), and the backward pass as twice the forward one. Not counted: padding,
norms, softmax, dropout, the optimiser; so time lost to these lowers the fraction of the machine that a step reaches.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Sizes(NamedTuple):
    """What the count depends on."""

    d_model: int
    d_ff: int
    n_layers: int  # of the encoder, and of the decoder
    vocabulary: int


def forward_flops(sizes: Sizes, source_lengths: Sequence[int], target_lengths: Sequence[int]) -> float:
    """Operations of one forward pass over sentences of these lengths in tokens, EOS included."""
    d, ffn = sizes.d_model, 2 * sizes.d_model * sizes.d_ff
    source, target = sum(source_lengths), sum(target_lengths)
    encoder_weights = 4 * d * d + ffn  # query, key, value, output; two of the feed-forward network
    decoder_weights = 4 * d * d + 2 * d * d + ffn  # its own attention; query and output of the other; feed-forward
    memory_weights = 2 * d * d  # keys and values, once a source token
    products = sizes.n_layers * (source * (encoder_weights + memory_weights) + target * decoder_weights)
    products += target * d * sizes.vocabulary
    pairs = sum(s * s for s in source_lengths) + sum(t * t for t in target_lengths)
    pairs += sum(s * t for s, t in zip(source_lengths, target_lengths, strict=True))
    scores = sizes.n_layers * 2 * d * pairs  # scores and weighted sum
    return 2.0 * (products + scores)


def training_flops(sizes: Sizes, source_lengths: Sequence[int], target_lengths: Sequence[int]) -> float:
    """Operations of one update: forward, and twice that for the gradients of inputs and weights."""
    return 3 * forward_flops(sizes, source_lengths, target_lengths)
