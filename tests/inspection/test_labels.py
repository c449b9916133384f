"""Labels, and the choice of what is shown."""

import numpy as np
import pytest
import torch
from tests.inspection.made_up import RTL, WORD

from heedful.inspection.labels import (
    allowed,
    axes,
    head_name,
    is_right_to_left,
    map_title,
    matrix,
    usual_map,
    visible,
)
from heedful.trace import Map


def test_decoder_rows_read_consumed_then_predicted() -> None:
    assert axes(WORD, "decoder.cross").rows[:2] == ["<s> → HH", "HH → IY"]
    assert axes(WORD, "decoder.cross").rows[-1] == "L → </s>"
    assert axes(WORD, "decoder.cross").columns == [*"heedful", "</s>"]
    assert axes(WORD, "decoder.self").columns == ["<s>", "HH", "IY", "D", "F", "AH", "L"]
    assert axes(WORD, "encoder.self").rows == axes(WORD, "encoder.self").columns == [*"heedful", "</s>"]


def test_right_to_left_pieces_are_isolated_so_that_the_arrow_stays() -> None:
    assert axes(RTL, "decoder.cross").rows[1] == "\u2068▁הספר\u2069 → \u2068▁על\u2069"


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        ("word", "word"),
        (" ", "␣"),
        ("a b", "a␣b"),
        ("", "∅"),
        ("\t", "⟨U+0009⟩"),
        ("\u202e", "⟨U+202E⟩"),
        ("\u2028x", "⟨U+2028⟩x"),
        ("क्\u200dष", "क्\u200dष"),
        ("\u200d", "⟨U+200D⟩"),
        ("\ud800", "⟨U+D800⟩"),
    ],
)
def test_nothing_in_a_label_is_invisible(piece: str, shown: str) -> None:
    assert visible(piece) == shown


def test_the_mean_is_over_heads_and_its_mask_over_any_head() -> None:
    weights = torch.tensor([[[1.0, 0.0]], [[0.0, 0.5]]])
    mask = torch.tensor([[[True, False]], [[False, True]]])
    shown = Map("decoder.0.cross", weights, mask)
    assert matrix(shown, "mean").tolist() == [[0.5, 0.25]]
    assert matrix(shown, 1).tolist() == [[0.0, 0.5]]
    assert allowed(shown, "mean").tolist() == [[True, True]]
    assert allowed(shown, 1).tolist() == [[False, True]]


def test_one_mask_serves_all_heads() -> None:
    causal = allowed(WORD.map("decoder.0.self"), 1)
    assert np.array_equal(causal, np.tril(np.ones((7, 7), dtype=bool)))


@pytest.mark.parametrize("head", [2, -1, "max"])
def test_a_head_that_is_not_there(head: int | str) -> None:
    with pytest.raises(ValueError, match=r"`head` must be 'mean' or 0 to 1 for decoder.0.cross, but is"):
        matrix(WORD.map("decoder.0.cross"), head)


def test_heads_are_named() -> None:
    assert (head_name("mean"), head_name(3)) == ("mean of heads", "head 3")


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("encoder.0.self", "Self-attention, encoder layer 0"),
        ("decoder.2.self", "Self-attention, decoder layer 2"),
        ("decoder.11.cross", "Cross-attention, decoder layer 11"),
        ("reader.1.read", "Attention for the label, reading 1"),
    ],
)
def test_maps_are_named_in_words(name: str, title: str) -> None:
    assert map_title(name) == title


def test_the_usual_map_is_the_last_cross_attention() -> None:
    assert usual_map(WORD) == "decoder.1.cross"
    encoders = [shown for shown in WORD.maps if shown.kind == "encoder.self"]
    assert usual_map(WORD._replace(maps=encoders)) == "encoder.1.self"
    many = [encoders[0]._replace(name=f"encoder.{layer}.self") for layer in range(11)]
    assert usual_map(WORD._replace(maps=many)) == "encoder.10.self"
    assert usual_map(WORD._replace(maps=[])) is None


@pytest.mark.parametrize(
    ("labels", "turned"),
    [
        (["ב", "</s>"], True),
        (["<s>", "كتاب", "ok"], True),
        (["▁على", "word"], False),
        (["x"], False),
        (["</s>"], False),
        (["1", "2"], False),
    ],
)
def test_the_direction_of_labels(labels: list[str], turned: bool) -> None:
    assert is_right_to_left(labels) is turned
