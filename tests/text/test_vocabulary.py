"""Symbols and ids."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary


def test_special_ids_come_first() -> None:
    vocabulary = Vocabulary("ab")
    assert [vocabulary.symbol(index) for index in (PAD, UNK, BOS, EOS)] == list(SPECIALS)
    assert vocabulary.ids("ba?") == [5, 4, UNK]
    assert len(vocabulary) == 6


def test_most_frequent_first_and_ties_in_code_point_order() -> None:
    vocabulary = Vocabulary.from_counts({"z": 5, "b": 2, "a": 2, "c": 1}, max_size=7)
    assert [vocabulary.symbol(index) for index in range(4, 7)] == ["z", "a", "b"]
    assert vocabulary.id("c") == UNK


def test_text_that_looks_special_is_text() -> None:
    vocabulary = Vocabulary.from_counts({"<s>": 3, "a": 1}, max_size=10)
    assert vocabulary.id("<s>") == 4
    assert vocabulary.id("</s>") == UNK


@given(st.sets(st.text(st.characters(codec="utf-8"), min_size=1), max_size=20))
def test_file_and_back(tmp_path_factory: pytest.TempPathFactory, symbols: set[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "vocabulary"
    written = Vocabulary(sorted(symbols))
    written.to_file(path)
    read = Vocabulary.from_file(path)
    assert [read.symbol(index) for index in range(len(read))] == [*SPECIALS, *sorted(symbols)]
    assert read.fingerprint == written.fingerprint
    assert path.read_bytes().count(b"\n") == len(written)


def test_line_breaks_are_escaped(tmp_path: Path) -> None:
    Vocabulary(["\n", "\\n", "\r", "\u2028"]).to_file(tmp_path / "v")
    assert (tmp_path / "v").read_text("utf-8") == "<pad>\n<unk>\n<s>\n</s>\n\\n\n\\\\n\n\\r\n\u2028\n"


def test_fingerprint_tells_vocabularies_apart() -> None:
    assert Vocabulary("ab").fingerprint != Vocabulary("ba").fingerprint
    assert Vocabulary(["a\n"]).fingerprint != Vocabulary(["a", ""]).fingerprint


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"`symbols` must differ from each other, but some symbol occurs twice\."):
        Vocabulary("aa")
    with pytest.raises(ValueError, match=r"`max_size` must exceed the 4 special symbols, but is 4\."):
        Vocabulary.from_counts({"a": 1}, max_size=4)
    with pytest.raises(ValueError, match=r"`index` must be in 0\.\.5, but is 6\."):
        Vocabulary("ab").symbol(6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\n", "its first lines must be <pad> <unk> <s> </s>"),
        (b"<pad>\n<unk>\n<s>\n</s>\na", "its last line whole"),
        (b"<pad>\n<unk>\n<s>\n</s>\na\na\n", "a symbol occurs twice"),
        (b"<pad>\n\xff\n", r"not UTF-8 text \(byte 6\)"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(HeedfulError, match=message):
        Vocabulary.from_file(tmp_path / "v")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(HeedfulError, match="No vocabulary at"):
        Vocabulary.from_file(tmp_path / "v")
