"""Encoder and decoder layers, and whole stacks, against torch's own on copied weights."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.models.tiny import batch_of, tiny_model
from torch import Tensor, nn

from heedful.attention import MultiHeadAttention
from heedful.models.transformer import DecoderLayer, EncoderLayer, Transformer

BATCH = batch_of([([5, 6, 7, 4, 9, 10], [8, 8, 4]), ([4], [10, 9, 8, 7]), ([9, 5], [])])
BOTH_NORMS = pytest.mark.parametrize("norm", ["post", "pre"])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu"])


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.project_query, ours.project_key, ours.project_value)
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.project_out.state_dict())


def copy_layer(ours: EncoderLayer | DecoderLayer, theirs: Any) -> None:
    """The names of torch's parts are torch's."""
    sublayers = [ours.self_sublayer, ours.feed_sublayer]
    copy_attention(ours.self_attention, theirs.self_attn)
    if isinstance(ours, DecoderLayer):
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        sublayers.insert(1, ours.cross_sublayer)
    theirs.linear1.load_state_dict(ours.feed_forward.widen.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.narrow.state_dict())
    for sublayer, norm in zip(sublayers, (theirs.norm1, theirs.norm2, getattr(theirs, "norm3", None)), strict=False):
        norm.load_state_dict(sublayer.norm.state_dict())


def twin_stacks(norm: str, activation: str) -> tuple[Transformer, nn.TransformerEncoder, nn.TransformerDecoder]:
    ours = tiny_model({"norm": norm, "activation": activation, "attention_bias": True})
    shared = {
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": norm == "pre",
        "dtype": torch.float64,
    }

    def stack(build: Callable[..., Any], layer: Callable[..., Any], final: nn.Module) -> Any:
        last = None
        if norm == "pre":
            last = nn.LayerNorm(12, dtype=torch.float64)
            last.load_state_dict(final.state_dict())
        return build(layer(12, 2, 20, **shared), 2, norm=last)

    with torch.no_grad():
        encoder = stack(
            lambda *args, norm: nn.TransformerEncoder(*args, norm=norm, enable_nested_tensor=False),
            nn.TransformerEncoderLayer,
            ours.encoder_norm,
        )
        decoder = stack(nn.TransformerDecoder, nn.TransformerDecoderLayer, ours.decoder_norm)
        for mine, theirs in zip([*ours.encoder, *ours.decoder], [*encoder.layers, *decoder.layers], strict=True):
            assert isinstance(mine, EncoderLayer | DecoderLayer)
            copy_layer(mine, theirs)
    return ours, encoder, decoder


def embedded(model: Transformer, ids: Tensor) -> Tensor:
    """tie = "all": one matrix and the same sinusoids on both sides."""
    return model.embed_target(ids) + model.target_positions(ids.shape[1])


@BOTH_NORMS
@ACTIVATIONS
class TestStacks:
    def test_encoder(self, norm: str, activation: str) -> None:
        ours, encoder, _ = twin_stacks(norm, activation)
        expected = encoder(embedded(ours, BATCH.src), src_key_padding_mask=~BATCH.src_mask)
        found = ours.encode(BATCH.src, BATCH.src_mask).values
        torch.testing.assert_close(found[BATCH.src_mask], expected[BATCH.src_mask])

    def test_decoder(self, norm: str, activation: str) -> None:
        ours, _, decoder = twin_stacks(norm, activation)
        memory = ours.encode(BATCH.src, BATCH.src_mask)
        length = BATCH.tgt_in.shape[1]
        hidden_from = torch.ones(length, length, dtype=torch.bool).triu(1)  # torch: True = hidden
        expected = decoder(
            embedded(ours, BATCH.tgt_in), memory.values, tgt_mask=hidden_from, memory_key_padding_mask=~BATCH.src_mask
        )
        torch.testing.assert_close(ours.decode(memory, BATCH.tgt_in), expected)

    def test_gradients(self, norm: str, activation: str) -> None:
        ours, encoder, _ = twin_stacks(norm, activation)
        real = BATCH.src_mask
        ours.encode(BATCH.src, real).values[real].pow(3).sum().backward()
        encoder(embedded(ours, BATCH.src).detach(), src_key_padding_mask=~real)[real].pow(3).sum().backward()
        for mine, theirs in zip(ours.encoder, encoder.layers, strict=True):
            torch.testing.assert_close(mine.feed_forward.widen.weight.grad, theirs.linear1.weight.grad)
            torch.testing.assert_close(mine.self_sublayer.norm.weight.grad, theirs.norm1.weight.grad)
