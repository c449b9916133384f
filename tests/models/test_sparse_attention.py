"""Heads that read a part of what they may see: the k best keys, or neighbours."""

from collections.abc import Mapping

import pytest
import torch
from tests.models.test_padding import padded
from tests.models.tiny import PAIRS, batch_of, tiny_model

from heedful.attention import MultiHeadAttention, softmax
from heedful.data.batch import Batch
from heedful.models.inference import for_inference
from heedful.models.interface import State
from heedful.models.recording import recorded_maps
from heedful.models.transformer import Transformer

KINDS: dict[str, dict[str, object]] = {
    "top 1": {"attention_top_k": 1},
    "top 2": {"attention_top_k": 2, "norm": "pre"},
    "window": {"attention_window": 4},
    "window of top 1": {"attention_window": 5, "attention_top_k": 1},
    "window, rotary": {"attention_window": 4, "positions": "rotary"},
    "window, t5": {"attention_window": 4, "positions": "t5", "n_buckets": 6, "max_distance": 5},
    "window, relative": {"attention_window": 4, "positions": "relative", "clip_distance": 2, "relative_values": True},
    "top 2, relative": {"attention_top_k": 2, "positions": "relative", "relative_values": True},
    "top 2, alibi": {"attention_top_k": 2, "positions": "alibi"},
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
LONG = batch_of([([5, 6, 7, 8, 9] * 50, [5, 6]), ([8, 9] * 90, [5])])  # blocks are quicker from 192 tokens on


def hidden(model: Transformer, batch: Batch) -> torch.Tensor:
    return model(batch.src, batch.src_mask, batch.tgt_in)


@EVERY_KIND
@pytest.mark.parametrize("extra", [1, 7, 50, 200])
def test_padding_changes_nothing(kind: Mapping[str, object], extra: int) -> None:
    model, batch = tiny_model(kind), batch_of(PAIRS)
    wider = padded(batch, extra)
    length = batch.tgt_in.shape[1]
    torch.testing.assert_close(hidden(model, wider)[:, :length], hidden(model, batch))


@EVERY_KIND
def test_whole_equals_steps(kind: Mapping[str, object]) -> None:
    model, batch = tiny_model(kind), batch_of(PAIRS)
    memory = model.encode(batch.src, batch.src_mask)
    whole = model.decode(memory, batch.tgt_in)
    state: State = model.start(memory, 1)
    for position in range(batch.tgt_in.shape[1]):
        step, state = model.step(state, batch.tgt_in[:, position])
        torch.testing.assert_close(step, whole[:, position])


@EVERY_KIND
def test_prepared_for_search_it_is_the_same_function(kind: Mapping[str, object]) -> None:
    model = tiny_model(kind)
    for batch in (batch_of(PAIRS), LONG):
        torch.testing.assert_close(hidden(for_inference(model, "float32"), batch), hidden(model, batch))


@EVERY_KIND
@pytest.mark.parametrize("batch", [batch_of(PAIRS), LONG], ids=["short", "long"])
def test_recording_changes_nothing(kind: Mapping[str, object], batch: Batch) -> None:
    """Where maps are asked for, a window is a table; else blocks, in long sequences."""
    model = tiny_model(kind)
    memory = model.encode(batch.src, batch.src_mask)
    with recorded_maps(model):
        recorded = model.encode(batch.src, batch.src_mask)
    torch.testing.assert_close(recorded.values[batch.src_mask], memory.values[batch.src_mask])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_exactly_k_keys_are_read(k: int) -> None:
    """In every head of every attention, or all that may be seen where they are fewer."""
    model, batch = tiny_model({"attention_top_k": k}), batch_of(PAIRS)
    with recorded_maps(model) as maps:
        model.decode(model.encode(batch.src, batch.src_mask), batch.tgt_in)
    assert len(maps) == 6
    for found in maps:
        visible = found.mask.expand_as(found.weights).sum(dim=-1)
        assert torch.equal((found.weights > 0).sum(dim=-1), visible.clamp(max=k))
        torch.testing.assert_close(found.weights.sum(dim=-1), torch.ones(found.weights.shape[:2]))


def test_as_many_as_there_are_is_soft_attention() -> None:
    batch = batch_of(PAIRS)
    torch.testing.assert_close(hidden(tiny_model({"attention_top_k": 20}), batch), hidden(tiny_model(), batch))


@pytest.mark.parametrize(("window", "radius"), [(1, 0), (2, 1), (5, 2), (6, 3)])
def test_two_layers_reach_twice_as_far_as_one(window: int, radius: int) -> None:
    """|i - j| <= r / 2 in each layer; what lies further off is not read at all."""
    model = tiny_model({"attention_window": window})
    batch = batch_of([([5, 6, 7, 8, 9] * 3, [5])])
    taken: list[torch.Tensor] = []

    def keep(_module: object, _ids: object, embedded: torch.Tensor) -> torch.Tensor:
        taken.append(embedded.detach().requires_grad_())
        return taken[0]

    with model.embed_source.register_forward_hook(keep):
        values = model.encode(batch.src, batch.src_mask).values
    direction = torch.linspace(-1, 2, values.shape[-1], dtype=values.dtype)
    for place in range(values.shape[1]):
        (slope,) = torch.autograd.grad((values[0, place] * direction).sum(), taken[0], retain_graph=True)
        distance = (torch.arange(values.shape[1]) - place).abs()
        assert torch.equal(slope[0].abs().sum(dim=-1) > 0, distance <= 2 * radius)


def test_a_window_is_of_the_encoder_alone() -> None:
    model, batch = tiny_model({"attention_window": 2}), batch_of(PAIRS)
    with recorded_maps(model) as maps:
        model.decode(model.encode(batch.src, batch.src_mask), batch.tgt_in)
    for found in maps:
        rows, columns = found.weights.shape[1:]
        near = (torch.arange(rows)[:, None] - torch.arange(columns)).abs() <= 1
        if found.kind == "encoder.self":
            assert torch.equal(found.mask[0], near)
            assert not found.weights[:, ~near].any()
        else:
            assert found.weights[:, ~near].any()


def test_where_both_are_left_out_the_kernel_is_the_quick_one() -> None:
    model = tiny_model()
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert [attention.normalise for attention in attentions] == [softmax] * 6
    assert [layer.radius for layer in model.encoder] == [None, None]
