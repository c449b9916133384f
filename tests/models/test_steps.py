"""Whole = steps: decoding at once equals decoding token by token, whatever search does with the rows in between."""

from collections.abc import Mapping

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.tiny import EVERY_VARIANT, PAIRS, VOCABULARY, batch_of, tiny_model

from heedful.layers.position import SinusoidalPositions
from heedful.models.interface import Memory, State


@EVERY_VARIANT
def test_one_row_a_sentence(variant: Mapping[str, object]) -> None:
    model, batch = tiny_model(variant), batch_of(PAIRS)
    memory = model.encode(batch.src, batch.src_mask)
    whole = model.decode(memory, batch.tgt_in)
    state: State = model.start(memory, 1)
    for position in range(batch.tgt_in.shape[1]):
        hidden, state = model.step(state, batch.tgt_in[:, position])
        torch.testing.assert_close(hidden, whole[:, position])


@given(data=st.data())
@settings(max_examples=15, deadline=None)
@pytest.mark.parametrize("beams", [1, 2, 3])
def test_beams_that_branch_and_sentences_that_leave(beams: int, data: st.DataObject) -> None:
    """After each step some sentences leave, and the rows of the others are any of their own rows."""
    model, batch = MODEL, BATCH
    memory = model.encode(batch.src, batch.src_mask)
    sentences = list(range(len(PAIRS)))
    state: State = model.start(memory, beams)
    written = torch.empty(len(sentences) * beams, 0, dtype=torch.long)
    for _ in range(4):
        tokens = torch.tensor(
            data.draw(st.lists(st.integers(1, VOCABULARY - 1), min_size=len(written), max_size=len(written)))
        )
        hidden, state = model.step(state, tokens)
        written = torch.cat([written, tokens[:, None]], dim=1)
        of_row = torch.tensor(sentences).repeat_interleave(beams)
        alone = Memory(memory.values[of_row], memory.mask[of_row])
        torch.testing.assert_close(hidden, model.decode(alone, written)[:, -1])
        stay = data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1, unique=True).map(sorted))
        source = st.lists(st.integers(0, beams - 1), min_size=beams, max_size=beams)
        rows = torch.tensor([place * beams + beam for place in stay for beam in data.draw(source)])
        state, written, sentences = state.reorder(rows), written[rows], [sentences[place] for place in stay]


MODEL, BATCH = tiny_model(), batch_of(PAIRS)


def test_a_state_is_never_changed_in_place() -> None:
    """Two continuations of one state do not see each other."""
    memory = MODEL.encode(BATCH.src, BATCH.src_mask)
    _, state = MODEL.step(MODEL.start(memory, 1), BATCH.tgt_in[:, 0])
    fives, sixes = torch.full((len(PAIRS),), 5), torch.full((len(PAIRS),), 6)
    once, _ = MODEL.step(state, fives)
    MODEL.step(state, sixes)
    again, _ = MODEL.step(state, fives)
    assert torch.equal(once, again)


def test_longer_than_the_positions_that_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sinusoids are computed in advance up to a length, and then as they come."""
    monkeypatch.setattr(SinusoidalPositions, "READY", 4)
    model = tiny_model()
    memory = model.encode(BATCH.src, BATCH.src_mask)
    tokens = torch.randint(4, VOCABULARY, (len(PAIRS), 9), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model.decode(memory, tokens), MODEL.decode(memory, tokens))
    state: State = model.start(memory, 1)
    for position in range(9):
        hidden, state = model.step(state, tokens[:, position])
    torch.testing.assert_close(hidden, MODEL.decode(memory, tokens)[:, -1])
