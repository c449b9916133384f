"""How long lines are cut, and how pieces become batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.decoding.segments import batches, segment_line
from heedful.text.config import SideConfig
from heedful.text.tokenizer import Tokenizer, train_tokenizer

TEXT = "ab. c d? efg! a。b… cc"
CHARACTERS = train_tokenizer(SideConfig(kind="characters"), [TEXT], 1)
WORDS = train_tokenizer(SideConfig(kind="words"), ["a b. c d? e f! g"], 1)


def parts(text: str, tokenizer: Tokenizer, longest: int) -> list[str]:
    return [tokenizer.decode(segment.ids) for segment in segment_line(0, text, tokenizer, longest)]


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (6, ["a b. c d? e f!", "g"]),
        (3, ["a b.", "c d?", "e f! g"]),
        (2, ["a b.", "c d?", "e f!", "g"]),
        (1, ["a", "b.", "c", "d?", "e", "f!", "g"]),
        (7, ["a b. c d? e f! g"]),
    ],
)
def test_sentences_are_packed(longest: int, expected: list[str]) -> None:
    assert parts("a b. c d? e f! g", WORDS, longest) == expected


def test_blanks_between_packed_sentences_stay() -> None:
    """Where characters are the tokens, the blank after a full stop is one of them."""
    assert parts("ab. cc? efg!", CHARACTERS, 9) == ["ab. cc?", "efg!"]


def test_signs_that_need_no_blank() -> None:
    assert parts("ab。cd。a", CHARACTERS, 4) == ["ab。", "cd。a"]


@given(data=st.data(), longest=st.integers(1, 12))
@pytest.mark.parametrize(
    ("tokenizer", "alphabet"), [(CHARACTERS, "abc .?。"), (WORDS, "abc .?")], ids=["characters", "words"]
)
def test_nothing_but_blanks_at_the_cuts_is_lost(
    tokenizer: Tokenizer, alphabet: str, data: st.DataObject, longest: int
) -> None:
    text = data.draw(st.text(alphabet=alphabet, max_size=30))
    segments = segment_line(5, text, tokenizer, longest)
    assert all(segment.line == 5 and 0 < len(segment.ids) <= longest for segment in segments)
    blank = tokenizer.encode(" ")
    found = [i for segment in segments for i in segment.ids if [i] != blank]
    assert found == [i for i in tokenizer.encode(text) if [i] != blank]


@pytest.mark.parametrize("text", ["", " ", "\t  "])
def test_blank_lines_have_no_segment(text: str) -> None:
    assert segment_line(0, text, CHARACTERS, 5) == []


@given(lengths=st.lists(st.integers(0, 20), max_size=30), budget=st.integers(1, 60))
def test_batches(lengths: list[int], budget: int) -> None:
    """Each segment once, longest first, within the budget unless it is alone."""
    found = list(batches(lengths, budget))
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    for batch in found:
        longest = max(lengths[number] for number in batch) + 1
        assert len(batch) == 1 or len(batch) * longest <= budget
    order = [lengths[number] for batch in found for number in batch]
    assert order == sorted(order, reverse=True)
