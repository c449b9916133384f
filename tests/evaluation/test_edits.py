"""Alignments of an output with its reference, by hand and by the law of the edit distance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from heedful.evaluation.edits import Change, aligned, beside_closest, edits, sound, spans

TEXTS = st.text(alphabet="abc", max_size=9)


@given(TEXTS, TEXTS)
def test_columns_hold_both_sides_with_the_fewest_edits(output: str, reference: str) -> None:
    units = beside_closest(output, [reference])
    columns = aligned(units)
    assert [column.written for column in columns if column.written] == units.output == list(output)
    assert [column.wanted for column in columns if column.wanted] == units.reference == list(reference)
    assert len(edits(columns)) == Levenshtein.distance(output, reference)
    assert [edit for span in spans(columns) for edit in span] == edits(columns)


def test_labels_are_compared_place_by_place() -> None:
    units = beside_closest("O O O O B O", ["O O B I O O"])
    assert [column.kind for column in aligned(units)] == ["equal", "equal", *["substitution"] * 3, "equal"]


def test_edits_are_named_as_error_rates_name_them() -> None:
    units = beside_closest("K AH T S", ["S K AE T"])
    assert [(edit, edit.kind) for edit in edits(aligned(units))] == [
        (Change("", "S"), "deletion"),
        (Change("AH", "AE"), "substitution"),
        (Change("S", ""), "insertion"),
    ]


def test_units_are_characters_where_nothing_has_a_blank() -> None:
    assert beside_closest("ab", ["cb"]).by_character
    assert not beside_closest("ab", ["a b"]).by_character
    assert not beside_closest("ab", ["ab", "a b"]).by_character


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        ("AE", "vowel"),
        ("AE1", "vowel"),
        ("ER0", "vowel"),
        ("Y", "consonant"),
        ("HH", "consonant"),
        ("a", "vowel"),
        ("é", "vowel"),
        ("ɪ", "vowel"),
        ("aʊ", "vowel"),
        ("iː", "vowel"),
        ("t͡ʃ", "consonant"),
        ("kʰ", "consonant"),
        ("й", "consonant"),
        ("и", "vowel"),
        ("ώ", "vowel"),
        ("is", None),
        ("ADJ", None),
        ("O", None),
        ("B-x", None),
        ("ب", None),
        ("猫", None),
        ("7", None),
        (".", None),
    ],
)
def test_sounds(unit: str, kind: str | None) -> None:
    assert sound(unit) == kind
