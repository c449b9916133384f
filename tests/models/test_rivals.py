"""The laws that every model keeps, for the kinds beside the Transformer."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.rivals import EVERY_RIVAL, RIVALS, rival
from tests.models.test_padding import padded
from tests.models.tiny import FIRST, PAIRS, VOCABULARY, batch_of, tiny_model
from torch import Tensor, nn

from heedful.decoding.beam import beam_search
from heedful.decoding.ensemble import Ensemble
from heedful.decoding.greedy import greedy_search
from heedful.decoding.search import Request
from heedful.models.interface import Memory, Seq2Seq, State
from heedful.models.recording import recorded_maps
from heedful.models.weights import load_weights, read_tensors, weights_of, write_tensors
from heedful.text.vocabulary import BOS, PAD
from heedful.training.objective import label_smoothed_cross_entropy

BATCH = batch_of(PAIRS)


@EVERY_RIVAL
class TestPadding:
    @pytest.mark.parametrize("extra", [1, 7])
    def test_changes_nothing(self, name: str, extra: int) -> None:
        model, wider = rival(name), padded(BATCH, extra)
        memory, wide_memory = (model.encode(some.src, some.src_mask) for some in (BATCH, wider))
        real = BATCH.src_mask
        torch.testing.assert_close(wide_memory.values[:, : real.shape[1]][real], memory.values[real])
        hidden, wide_hidden = model.decode(memory, BATCH.tgt_in), model.decode(wide_memory, wider.tgt_in)
        torch.testing.assert_close(wide_hidden[:, : hidden.shape[1]], hidden)

    def test_its_tokens_change_not_one_bit(self, name: str) -> None:
        model, one, other = rival(name), padded(BATCH, 2), padded(BATCH, 2, filler=9)
        hidden = [model(some.src, some.src_mask, some.tgt_in) for some in (one, other)]
        real = one.tgt_out != PAD
        assert torch.equal(hidden[0][real], hidden[1][real])

    def test_a_batch_is_its_sentences_one_by_one(self, name: str) -> None:
        model = rival(name)
        hidden = model(BATCH.src, BATCH.src_mask, BATCH.tgt_in)
        for row, pair in enumerate(PAIRS):
            alone = batch_of([pair])
            expected = model(alone.src, alone.src_mask, alone.tgt_in)
            torch.testing.assert_close(hidden[row : row + 1, : expected.shape[1]], expected)

    def test_has_no_gradient(self, name: str) -> None:
        """The row of PAD in an embedding that is read only is never moved, and everything else is."""
        model, batch = rival(name), padded(BATCH, 3)
        hidden = model(batch.src, batch.src_mask, batch.tgt_in)
        label_smoothed_cross_entropy(hidden, model.output_weight(), batch.tgt_out, 0.1).smoothed.backward()
        gradients = {key: parameter.grad for key, parameter in model.named_parameters()}
        source = gradients.get("embed_source.weight")
        assert source is None or (not source[PAD].any() and source[FIRST:].any())
        unread = {"embed_target.weight"} if name == "none, no feedback" else set()
        assert {key for key, gradient in gradients.items() if gradient is None or not gradient.any()} == unread


def slopes(model: Seq2Seq, length: int) -> Tensor:
    """|d hidden[i] / d target_embedding[j]| for all i, j."""
    tokens = torch.tensor([[2, *([5, 6, 7, 8, 9] * 4)][:length]])
    source = batch_of([([5, 6, 7], [])])
    memory = model.encode(source.src, source.src_mask)
    taken: list[Tensor] = []

    def keep(_module: nn.Module, _ids: tuple[Tensor, ...], embedded: Tensor) -> Tensor:
        taken.append(embedded.detach().requires_grad_())
        return taken[0]

    embed_target = model.get_submodule("embed_target")
    with embed_target.register_forward_hook(keep):
        hidden = model.decode(memory, tokens)
    direction = torch.linspace(-1, 2, hidden.shape[-1], dtype=hidden.dtype)
    rows = [
        torch.autograd.grad((hidden[0, i] * direction).sum(), taken[0], retain_graph=True, allow_unused=True)[0]
        for i in range(length)
    ]
    return torch.stack([torch.zeros_like(taken[0]) if row is None else row for row in rows])[:, 0].abs().sum(-1)


@EVERY_RIVAL
def test_exactly_the_past(name: str) -> None:
    """Without feedback of the last word, outputs do not depend on each other at all. [spec C4]"""
    found = slopes(rival(name), 6)
    past = torch.ones(6, 6, dtype=torch.bool).tril() if name != "none, no feedback" else torch.zeros(6, 6).bool()
    assert (found[past] > 0).all()
    assert (found[~past] == 0).all()


def test_convolutions_see_so_far_and_no_further() -> None:
    """1 + L (k - 1) tokens: L layers of kernel k, whatever the attentions."""
    for name, layers, kernel in (("convs2s", 3, 3), ("convs2s, wide", 2, 5)):
        length, field = 14, 1 + layers * (kernel - 1)
        found = slopes(rival(name), length)
        distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
        assert torch.equal(found > 0, (distance >= 0) & (distance < field))


@EVERY_RIVAL
def test_every_step_reads_every_real_source_token(name: str) -> None:
    model = rival(name)
    batch = batch_of([([5, 6, 7], [5, 6]), ([8], [5])])
    sources: list[Tensor] = []

    def keep(_module: nn.Module, _ids: tuple[Tensor, ...], embedded: Tensor) -> Tensor:
        sources.append(embedded.detach().requires_grad_())
        return sources[-1]

    embed = model.get_submodule("embed_target" if RIVALS[name].tie == "all" else "embed_source")
    with embed.register_forward_hook(keep):
        memory = model.encode(batch.src, batch.src_mask)
    hidden = model.decode(memory, batch.tgt_in)
    direction = torch.linspace(-1, 2, hidden.shape[-1], dtype=hidden.dtype)
    for position in range(3):
        (slope,) = torch.autograd.grad((hidden[:, position] * direction).sum(), sources[0], retain_graph=True)
        assert torch.equal(slope.abs().sum(-1) > 0, batch.src_mask)


@EVERY_RIVAL
class TestSteps:
    def test_are_the_whole(self, name: str) -> None:
        model = rival(name)
        memory = model.encode(BATCH.src, BATCH.src_mask)
        whole = model.decode(memory, BATCH.tgt_in)
        state: State = model.start(memory, 1)
        for position in range(BATCH.tgt_in.shape[1]):
            hidden, state = model.step(state, BATCH.tgt_in[:, position])
            torch.testing.assert_close(hidden, whole[:, position])

    @given(data=st.data())
    @settings(max_examples=4, deadline=None)
    def test_beams_that_branch_and_sentences_that_leave(self, name: str, data: st.DataObject) -> None:
        """After each step some sentences leave, and the rows of the others are any of their own rows."""
        model, beams = rival(name), data.draw(st.integers(1, 3))
        memory = model.encode(BATCH.src, BATCH.src_mask)
        sentences = list(range(len(PAIRS)))
        state: State = model.start(memory, beams)
        written = torch.empty(len(sentences) * beams, 0, dtype=torch.long)
        for _ in range(4):
            tokens = st.lists(st.integers(1, VOCABULARY - 1), min_size=len(written), max_size=len(written))
            written = torch.cat([written, torch.tensor(data.draw(tokens))[:, None]], dim=1)
            hidden, state = model.step(state, written[:, -1])
            of_row = torch.tensor(sentences).repeat_interleave(beams)
            alone = Memory(memory.values[of_row], memory.mask[of_row])
            torch.testing.assert_close(hidden, model.decode(alone, written)[:, -1])
            stay = data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1, unique=True).map(sorted))
            source = st.lists(st.integers(0, beams - 1), min_size=beams, max_size=beams)
            rows = torch.tensor([place * beams + beam for place in stay for beam in data.draw(source)])
            state, written, sentences = state.reorder(rows), written[rows], [sentences[place] for place in stay]

    def test_never_change_a_state(self, name: str) -> None:
        model = rival(name)
        memory = model.encode(BATCH.src, BATCH.src_mask)
        _, state = model.step(model.start(memory, 1), BATCH.tgt_in[:, 0])
        fives, sixes = torch.full((len(PAIRS),), 5), torch.full((len(PAIRS),), 6)
        once, _ = model.step(state, fives)
        model.step(state, sixes)
        again, _ = model.step(state, fives)
        assert torch.equal(once, again)

    def test_one_beam_is_greedy(self, name: str) -> None:
        model = rival(name)

        def step(state: State, tokens: Tensor) -> tuple[Tensor, State]:
            hidden, after = model.step(state, tokens)
            return model.logits(hidden), after

        requests = [Request(6), Request(5), Request(7), Request(2)]
        memory = model.encode(BATCH.src, BATCH.src_mask)
        greedy = greedy_search(step, model.start(memory, 1), requests, 0.6)
        beams = beam_search(step, model.start(memory, 1), requests, beam=1, alpha=0.6)
        assert [found[0].ids for found in beams] == [found[0].ids for found in greedy]


@pytest.mark.parametrize("name", ["bahdanau", "luong, concat, fed", "convs2s"])
def test_memory_is_not_copied_for_beams(name: str) -> None:
    """Three beams hold one memory: the state's part of it lies in the memory's own storage, whatever the steps."""
    model = rival(name)
    memory = model.encode(BATCH.src, BATCH.src_mask)
    state = model.start(memory, 3)
    _, state = model.step(state, torch.full((len(PAIRS) * 3,), 5))
    state = state.reorder(torch.arange(len(PAIRS) * 3).view(-1, 3).flip(1).flatten())
    read = vars(state).get("source") or vars(state)["read"]
    assert read.value.untyped_storage().data_ptr() == memory.values.untyped_storage().data_ptr()


@EVERY_RIVAL
class TestMaps:
    def test_names_shapes_and_sums(self, name: str) -> None:
        model = rival(name)
        with recorded_maps(model) as maps:
            memory = model.encode(BATCH.src, BATCH.src_mask)
            recorded = model.decode(memory, BATCH.tgt_in)
        torch.testing.assert_close(recorded, model.decode(memory, BATCH.tgt_in))
        of_many = {"convs2s": range(3), "convs2s, wide": range(2), "convs2s, top": [2]}
        layers = [] if name.startswith("none") else of_many.get(name, [0])
        expected = [(f"decoder.{layer}.cross", (1, 6, 7)) for layer in layers]
        assert [(found.name, tuple(found.weights.shape)) for found in maps] == expected
        for found in maps:
            sums = found.weights.sum(-1)
            if name == "luong, local-p":  # the Gaussian comes after the softmax
                assert ((sums > 0) & (sums < 1)).all()
            else:
                torch.testing.assert_close(sums, torch.ones(1, 6))
            assert tuple(found.mask.shape) == (1, 6, 7)

    def test_a_step_keeps_none(self, name: str) -> None:
        """Its rows are those of search, among which no map has a first sentence."""
        model = rival(name)
        with recorded_maps(model) as maps:
            model.step(model.start(model.encode(BATCH.src, BATCH.src_mask), 3), torch.full((len(PAIRS) * 3,), BOS))
        assert maps == []

    def test_only_in_eval_mode(self, name: str) -> None:
        model = rival(name).train()
        with (
            pytest.raises(ValueError, match="Attention maps are taken in eval mode only"),
            recorded_maps(model),
        ):
            pass


def test_an_ensemble_may_be_of_all_kinds() -> None:
    """The mean of their probabilities, whole and step by step, though their memories have different widths."""
    models = [tiny_model(), rival("bahdanau"), rival("none"), rival("convs2s")]
    ensemble = Ensemble(models)
    memory = ensemble.encode(BATCH.src, BATCH.src_mask)
    whole = ensemble.decode(memory, BATCH.tgt_in)
    each = [model.logits(model(BATCH.src, BATCH.src_mask, BATCH.tgt_in)).softmax(dim=-1) for model in models]
    torch.testing.assert_close(ensemble.logits(whole).exp(), torch.stack(each).mean(dim=0).float())
    hidden, _ = ensemble.step(ensemble.start(memory, 1), BATCH.tgt_in[:, 0])
    torch.testing.assert_close(hidden, whole[:, 0])


@EVERY_RIVAL
def test_save_is_load(name: str, tmp_path: Path) -> None:
    model, other = rival(name), rival(name, seed=1)
    write_tensors(tmp_path / "w", weights_of(model))
    load_weights(other, read_tensors(tmp_path / "w"), tmp_path / "w")
    hidden = [some(BATCH.src, BATCH.src_mask, BATCH.tgt_in) for some in (model, other)]
    assert torch.equal(hidden[0], hidden[1])


@EVERY_RIVAL
def test_both_number_types_train(name: str) -> None:
    """Under autocast the loss stays near, and every parameter that is read has a gradient."""
    from heedful.tasks.table import compute_loss
    from heedful.training.config import TrainingConfig

    losses = []
    for precision in ("float32", "bfloat16"):
        model = rival(name).float().train()
        loss = compute_loss(model, BATCH, TrainingConfig.model_validate({"precision": precision}))
        loss.smoothed.backward()
        losses.append(float(loss.nll.detach()) / loss.count)
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
