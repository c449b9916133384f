"""A sentence's numbers do not depend on what it is batched with: encoding, decoding, loss, and gradients."""

from collections.abc import Mapping

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.tiny import EVERY_VARIANT, FIRST, PAIRS, VOCABULARY, batch_of, tiny_model

from heedful.data.batch import Batch
from heedful.text.vocabulary import PAD
from heedful.training.objective import label_smoothed_cross_entropy


def padded(batch: Batch, extra: int, filler: int = PAD) -> Batch:
    """The same batch with `extra` more places on every side, holding `filler` where no loss is."""
    wider = [torch.nn.functional.pad(tensor, (0, extra), value=filler) for tensor in (batch.src, batch.tgt_in)]
    mask = torch.nn.functional.pad(batch.src_mask, (0, extra))
    out = torch.nn.functional.pad(batch.tgt_out, (0, extra), value=PAD)
    return Batch(wider[0], mask, wider[1], out, batch.indices)


@EVERY_VARIANT
@pytest.mark.parametrize("extra", [1, 7, 50])
def test_padding_changes_nothing(variant: Mapping[str, object], extra: int) -> None:
    model, batch = tiny_model(variant), batch_of(PAIRS)
    wider = padded(batch, extra)
    memory, wide_memory = (model.encode(some.src, some.src_mask) for some in (batch, wider))
    length = batch.src.shape[1]
    torch.testing.assert_close(wide_memory.values[:, :length][batch.src_mask], memory.values[batch.src_mask])
    hidden, wide_hidden = model.decode(memory, batch.tgt_in), model.decode(wide_memory, wider.tgt_in)
    torch.testing.assert_close(wide_hidden[:, : hidden.shape[1]], hidden)
    losses = [
        label_smoothed_cross_entropy(h, model.output_weight(), some.tgt_out, 0.1)
        for h, some in ((hidden, batch), (wide_hidden, wider))
    ]
    torch.testing.assert_close(losses[0].smoothed, losses[1].smoothed)
    assert losses[0].count == losses[1].count == sum(len(target) + 1 for _, target in PAIRS)


@EVERY_VARIANT
def test_what_stands_in_the_padding_changes_not_one_bit(variant: Mapping[str, object]) -> None:
    model, batch = tiny_model(variant), batch_of(PAIRS)
    one, other = padded(batch, 2), padded(batch, 2, filler=9)
    hidden = [model(some.src, some.src_mask, some.tgt_in) for some in (one, other)]
    real = one.tgt_out != PAD
    assert torch.equal(hidden[0][real], hidden[1][real])


ids = st.lists(st.integers(FIRST, VOCABULARY - 1), max_size=9)
pairs = st.lists(st.tuples(ids, ids), min_size=1, max_size=5)
MODEL = tiny_model({"norm": "pre"})


@given(pairs=pairs)
@settings(max_examples=30, deadline=None)
def test_a_batch_is_its_sentences_one_by_one(pairs: list[tuple[list[int], list[int]]]) -> None:
    batch = batch_of(pairs)
    hidden = MODEL(batch.src, batch.src_mask, batch.tgt_in)
    together = label_smoothed_cross_entropy(hidden, MODEL.output_weight(), batch.tgt_out, 0.1)
    apart = torch.zeros((), dtype=torch.float64)
    for row, pair in enumerate(pairs):
        alone = batch_of([pair])
        expected = MODEL(alone.src, alone.src_mask, alone.tgt_in)
        torch.testing.assert_close(hidden[row : row + 1, : expected.shape[1]], expected)
        apart = apart + label_smoothed_cross_entropy(expected, MODEL.output_weight(), alone.tgt_out, 0.1).smoothed
    torch.testing.assert_close(together.smoothed, apart)


def test_gradients_of_padding_are_none() -> None:
    """The row of PAD in a matrix that is only read is never moved."""
    model = tiny_model({"tie": "none"})
    batch = padded(batch_of(PAIRS), 3)
    hidden = model(batch.src, batch.src_mask, batch.tgt_in)
    label_smoothed_cross_entropy(hidden, model.output_weight(), batch.tgt_out, 0.1).smoothed.backward()
    for embedding in (model.embed_source, model.embed_target):
        assert embedding.weight.grad is not None
        assert not embedding.weight.grad[PAD].any()
        assert embedding.weight.grad[FIRST:].any()


def test_without_positions_the_encoder_sees_a_set() -> None:
    """f(P x) = P f(x), and the decoder does not see the order at all."""
    model = tiny_model({"positions": "learned", "max_positions": 20, "tie": "decoder"})
    assert isinstance(model.source_positions.weight, torch.nn.Parameter)
    batch = batch_of([([5, 6, 7, 4, 9], [8, 4])])
    order = torch.tensor([2, 5, 0, 1, 4, 3])
    shuffled = batch.src[:, order]
    assert not torch.allclose(
        model.encode(shuffled, batch.src_mask).values, model.encode(batch.src, batch.src_mask).values[:, order]
    )
    with torch.no_grad():
        model.source_positions.weight.zero_()
    memory, moved = model.encode(batch.src, batch.src_mask), model.encode(shuffled, batch.src_mask)
    torch.testing.assert_close(moved.values, memory.values[:, order])
    torch.testing.assert_close(model.decode(moved, batch.tgt_in), model.decode(memory, batch.tgt_in))
