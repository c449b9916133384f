"""Kinds of positions within a Transformer: their settings, their weights, and the laws of search and batches."""

from pathlib import Path
from typing import get_args

import pytest
import torch
from pydantic import ValidationError
from tests.models.tiny import PAIRS, VARIANTS, VOCABULARY, batch_of, tiny_config, tiny_model
from torch import Tensor

from heedful.layers.position import SinusoidalPositions
from heedful.models.interface import Memory, State
from heedful.models.recording import recorded_maps
from heedful.models.transformer import Transformer
from heedful.models.transformer_config import TransformerConfig
from heedful.models.weights import FILE, load_weights, read_tensors, weights_of, write_tensors
from heedful.training.objective import label_smoothed_cross_entropy

IN_ATTENTION = ("relative", "t5", "rotary", "alibi", "none")
KINDS = {name: variant for name, variant in VARIANTS.items() if variant.get("positions") in IN_ATTENTION}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
BATCH = batch_of(PAIRS)


def test_every_kind_has_a_variant() -> None:
    """So that none escapes the laws of models."""
    every = set(get_args(TransformerConfig.model_fields["positions"].annotation))
    assert {variant.get("positions", "sinusoidal") for variant in VARIANTS.values()} == every


class TestSettings:
    @pytest.mark.parametrize(
        ("setting", "own", "usual"),
        [
            ("max_positions", "learned", 1024),
            ("clip_distance", "relative", 16),
            ("relative_values", "relative", False),
            ("n_buckets", "t5", 32),
            ("max_distance", "t5", 128),
        ],
    )
    def test_of_another_kind_are_refused(self, setting: str, own: str, usual: int | bool) -> None:
        """Set to what they are anyway, they do no harm: a recipe may hold every key."""
        other = True if usual is False else 20
        assert getattr(tiny_config({"positions": own, setting: other}), setting) == other
        for positions in {"sinusoidal", "t2t", "learned", *IN_ATTENTION} - {own}:
            tiny_config({"positions": positions, setting: usual})
            message = f'`{setting}` is of `positions` = "{own}", but that is "{positions}": leave it out, or set it to'
            with pytest.raises(ValidationError, match=message):
                tiny_config({"positions": positions, setting: other})

    def test_rotary_needs_pairs_of_columns(self) -> None:
        with pytest.raises(ValidationError, match=r'`positions` = "rotary" turns .* so `d_k` must be even, but is 3'):
            tiny_config({"positions": "rotary", "n_heads": 4})
        assert tiny_config({"positions": "rotary", "n_heads": 4, "d_k": 6}).head_key_width == 6

    @pytest.mark.parametrize("n_buckets", [2, 7])
    def test_buckets_are_halved(self, n_buckets: int) -> None:
        with pytest.raises(ValidationError, match="n_buckets"):
            tiny_config({"positions": "t5", "n_buckets": n_buckets})

    def test_wide_buckets_must_have_something_to_hold(self) -> None:
        message = r"`max_distance` must be more than half of `n_buckets` \(32\), but is 16"
        with pytest.raises(ValidationError, match=message):
            tiny_config({"positions": "t5", "max_distance": 16})


class TestWeights:
    @pytest.mark.parametrize(
        ("kind", "names"),
        [
            ("relative", [f"{stack}.{layer}.relative.key" for stack in ("encoder", "decoder") for layer in (0, 1)]),
            ("t5", ["encoder.0.relative.weight", "decoder.0.relative.weight"]),
            ("rotary", []),
            ("alibi", []),
            ("none", []),
        ],
    )
    def test_are_one_a_layer_or_one_a_stack(self, kind: str, names: list[str]) -> None:
        """T5 shares its numbers among all layers of a stack; Shaw has vectors for each layer."""
        without = weights_of(tiny_model({**KINDS[kind], "positions": "sinusoidal"} | _usual(kind)))
        assert sorted(weights_of(tiny_model(KINDS[kind])).keys() - without.keys()) == sorted(names)

    @EVERY_KIND
    def test_saved_is_loaded(self, kind: dict[str, object], tmp_path: Path) -> None:
        model, other = tiny_model(kind), tiny_model(kind, seed=7)
        write_tensors(tmp_path / FILE, weights_of(model))
        load_weights(other, read_tensors(tmp_path / FILE), tmp_path / FILE)
        assert torch.equal(hidden(other), hidden(model))

    @EVERY_KIND
    def test_all_are_trained(self, kind: dict[str, object]) -> None:
        model = tiny_model(kind).train()
        loss(model).backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name


def _usual(kind: str) -> dict[str, object]:
    """The settings of a kind at their defaults, so that another kind may have them."""
    own = {"clip_distance": 16, "relative_values": False, "n_buckets": 32, "max_distance": 128}
    return {name: value for name, value in own.items() if name in KINDS[kind]}


def hidden(model: Transformer) -> Tensor:
    return model(BATCH.src, BATCH.src_mask, BATCH.tgt_in)


def loss(model: Transformer) -> Tensor:
    return label_smoothed_cross_entropy(hidden(model), model.output_weight(), BATCH.tgt_out, 0.1).smoothed


@EVERY_KIND
def test_beams_branch_and_sentences_leave(kind: dict[str, object]) -> None:
    """After each step the rows of those sentences that stay are any of their own rows: keys keep their positions."""
    model, beams, generator = tiny_model(kind), 3, torch.Generator().manual_seed(0)
    memory = model.encode(BATCH.src, BATCH.src_mask)
    sentences = torch.arange(len(PAIRS))
    state: State = model.start(memory, beams)
    written = torch.empty(len(PAIRS) * beams, 0, dtype=torch.long)
    for n_stay in (4, 3, 3, 2, 1, 1):
        tokens = torch.randint(1, VOCABULARY, (len(written),), generator=generator)
        found, state = model.step(state, tokens)
        written = torch.cat([written, tokens[:, None]], dim=1)
        of_row = sentences.repeat_interleave(beams)
        alone = Memory(memory.values[of_row], memory.mask[of_row])
        torch.testing.assert_close(found, model.decode(alone, written)[:, -1])
        stay = torch.randperm(len(sentences), generator=generator)[:n_stay].sort().values
        rows = (stay[:, None] * beams + torch.randint(beams, (n_stay, beams), generator=generator)).flatten()
        state, written, sentences = state.reorder(rows), written[rows], sentences[stay]


@EVERY_KIND
def test_a_batch_is_its_sentences_one_by_one(kind: dict[str, object]) -> None:
    model = tiny_model(kind)
    together = hidden(model)
    for row, pair in enumerate(PAIRS):
        alone = batch_of([pair])
        expected = model(alone.src, alone.src_mask, alone.tgt_in)
        torch.testing.assert_close(together[row : row + 1, : expected.shape[1]], expected)


@EVERY_KIND
def test_the_memory_has_no_distance_from_the_target(kind: dict[str, object]) -> None:
    """Encoded tokens in another order are the same memory, whatever self-attention is told."""
    model = tiny_model(kind)
    memory = model.encode(BATCH.src[:1], BATCH.src_mask[:1])
    order = torch.tensor([2, 5, 0, 6, 1, 4, 3])
    moved = Memory(memory.values[:, order], memory.mask[:, order])
    torch.testing.assert_close(model.decode(moved, BATCH.tgt_in[:1]), model.decode(memory, BATCH.tgt_in[:1]))


@pytest.mark.parametrize("kind", KINDS)
def test_whether_the_encoder_sees_a_sequence_or_a_set(kind: str) -> None:
    """f(P x) = P f(x) where there are no positions; every kind of them tells orders apart."""
    model = tiny_model(KINDS[kind])
    order = torch.tensor([2, 5, 0, 6, 1, 4, 3])
    values = model.encode(BATCH.src[:1], BATCH.src_mask[:1]).values
    moved = model.encode(BATCH.src[:1, order], BATCH.src_mask[:1]).values
    assert torch.allclose(moved, values[:, order]) is (kind == "none")


@EVERY_KIND
def test_bfloat16_autocast_is_near(kind: dict[str, object]) -> None:
    """Training in bfloat16: the loss nearly that of float32, all gradients finite, and maps still a distribution."""
    model = tiny_model(kind).float()
    exact = loss(model)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = loss(model)
        with recorded_maps(model) as maps:
            model.encode(BATCH.src, BATCH.src_mask)
    torch.testing.assert_close(narrow.float(), exact, rtol=0.02, atol=0.0)
    narrow.backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())
    for found in maps:
        torch.testing.assert_close(found.weights.sum(-1), torch.ones(found.weights.shape[:2]), atol=0.02, rtol=0)


def test_steps_go_on_beyond_the_rotations_that_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = tiny_model(KINDS["rotary"])
    monkeypatch.setattr(SinusoidalPositions, "READY", 4)
    model = tiny_model(KINDS["rotary"])
    memory = model.encode(BATCH.src, BATCH.src_mask)
    tokens = torch.randint(4, VOCABULARY, (len(PAIRS), 9), generator=torch.Generator().manual_seed(0))
    whole = ready.decode(ready.encode(BATCH.src, BATCH.src_mask), tokens)
    torch.testing.assert_close(model.decode(memory, tokens), whole)
    state: State = model.start(memory, 1)
    for position in range(9):
        found, state = model.step(state, tokens[:, position])
        torch.testing.assert_close(found, whole[:, position])


@pytest.mark.parametrize("positions", IN_ATTENTION)
def test_any_length_can_be_read(positions: str) -> None:
    assert tiny_model({"positions": positions}).longest is None
