"""Attention maps as a model records them."""

from collections.abc import Mapping

import pytest
import torch
from tests.models.tiny import EVERY_VARIANT, PAIRS, batch_of, tiny_model

from heedful.attention import Map
from heedful.models.recording import is_recording, recorded_maps


def recorded(variant: Mapping[str, object]) -> tuple[list[Map], torch.Tensor, torch.Tensor]:
    """The maps, and the hidden vectors with and without recording."""
    model, batch = tiny_model(variant), batch_of(PAIRS)
    with recorded_maps(model) as maps:
        with_maps = model.decode(model.encode(batch.src, batch.src_mask), batch.tgt_in)
    return maps, with_maps, model(batch.src, batch.src_mask, batch.tgt_in)


@EVERY_VARIANT
def test_names_shapes_and_sums(variant: Mapping[str, object]) -> None:
    maps, _, _ = recorded(variant)
    heads, source, target = variant.get("n_heads", 2), 7, 6
    expected = [(f"encoder.{n}.self", (heads, source, source)) for n in range(2)]
    for n in range(2):
        expected += [(f"decoder.{n}.self", (heads, target, target)), (f"decoder.{n}.cross", (heads, target, source))]
    assert [(m.name, tuple(m.weights.shape)) for m in maps] == expected
    for found in maps:
        torch.testing.assert_close(found.weights.sum(-1), torch.ones(found.weights.shape[:2]))
        assert not found.weights[~found.mask.expand_as(found.weights)].any()


@EVERY_VARIANT
def test_recording_changes_nothing(variant: Mapping[str, object]) -> None:
    _, with_maps, without = recorded(variant)
    torch.testing.assert_close(with_maps, without)


def test_are_those_of_the_first_sentence_alone() -> None:
    model = tiny_model()
    alone = batch_of(PAIRS[:1])
    with recorded_maps(model) as maps:
        model.decode(model.encode(alone.src, alone.src_mask), alone.tgt_in)
    for together, single in zip(recorded({})[0], maps, strict=True):
        rows, columns = single.weights.shape[1:]
        torch.testing.assert_close(together.weights[:, :rows, :columns], single.weights)


def test_padding_is_masked() -> None:
    model, batch = tiny_model(), batch_of([PAIRS[1], PAIRS[0]])
    with recorded_maps(model) as maps:
        model.encode(batch.src, batch.src_mask)
    assert maps[0].mask[0].tolist() == [[True, True, *[False] * 5]] * 7


def test_only_in_eval_mode() -> None:
    model = tiny_model().train()
    with pytest.raises(ValueError, match="Attention maps are taken in eval mode only"), recorded_maps(model):
        pass


def test_all_of_the_model_must_be_in_eval_mode() -> None:
    model = tiny_model()
    next(iter(model.decoder)).cross_attention.train()
    with pytest.raises(ValueError, match="Attention maps are taken in eval mode only"), recorded_maps(model):
        pass


def test_a_step_keeps_none() -> None:
    model, batch = tiny_model(), batch_of(PAIRS)
    memory = model.encode(batch.src, batch.src_mask)
    with recorded_maps(model) as maps:
        model.step(model.start(memory, 1), batch.tgt_in[:, 0])
    assert maps == []


def test_each_scope_has_its_own_and_an_error_ends_it() -> None:
    model, batch = tiny_model(), batch_of(PAIRS)

    def encode_and_fail() -> None:
        model.encode(batch.src, batch.src_mask)
        raise ZeroDivisionError

    with recorded_maps(model) as outer:
        with pytest.raises(ZeroDivisionError), recorded_maps(model) as inner:
            encode_and_fail()
        assert is_recording()
        assert (len(inner), len(outer)) == (2, 0)
        model.encode(batch.src, batch.src_mask)
    model.encode(batch.src, batch.src_mask)
    assert (len(inner), len(outer)) == (2, 2)
    assert not is_recording()


def test_nothing_is_kept_on_modules() -> None:
    model, batch = tiny_model(), batch_of(PAIRS)
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    with recorded_maps(model):
        model.decode(model.encode(batch.src, batch.src_mask), batch.tgt_in)
    assert not is_recording()
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before
