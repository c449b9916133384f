"""Sentencepiece models from elsewhere, with a vocabulary of their own."""

from pathlib import Path

import pytest
import sentencepiece
from tests.text.made_up import sentences

from heedful.errors import ConfigError, HeedfulError
from heedful.text.config import SideConfig
from heedful.text.marian_tokenizer import MarianPieceTokenizer
from heedful.text.subwords import train_model
from heedful.text.tokenizer import Tokenizers, load_tokenizers, train_tokenizer
from heedful.text.vocabulary import UNK, Vocabulary

LINES = sentences(200)
SETTINGS = SideConfig(kind="pieces", unicode_form="none")
MODEL = train_model(SideConfig(vocab_size=80), LINES)
PROCESSOR = sentencepiece.SentencePieceProcessor(model_proto=MODEL)
PIECES = [PROCESSOR.id_to_piece(index) for index in range(4, 80)]
CODE = ">>fra<<"


def tokenizer(pieces: list[str]) -> MarianPieceTokenizer:
    return MarianPieceTokenizer(SETTINGS, MODEL, Vocabulary(pieces))


def test_ids_are_those_of_the_vocabulary() -> None:
    backwards = tokenizer(PIECES[::-1])
    for line in LINES:
        assert backwards.encode(line) == [
            4 + len(PIECES) - 1 - (i - 4) if i > 3 else UNK for i in PROCESSOR.encode(line)
        ]
        assert backwards.decode(backwards.encode(line)) == PROCESSOR.decode(PROCESSOR.encode(line))


def test_a_piece_that_the_vocabulary_lacks_is_unknown() -> None:
    lost = PROCESSOR.encode(LINES[0], out_type=str)[0]
    fewer = tokenizer([piece for piece in PIECES if piece != lost])
    assert fewer.encode(LINES[0])[0] == UNK
    assert fewer.decode(fewer.encode(LINES[0])).startswith("⁇")
    assert len(fewer) == 79


def test_a_piece_that_the_model_lacks() -> None:
    """Two models share one vocabulary, so that an output may have pieces of the other side."""
    wider = tokenizer([*PIECES, "▁zzz"])
    assert wider.decode([80, *wider.encode(LINES[0]), 80]) == f"zzz {wider.decode(wider.encode(LINES[0]))} zzz"


def test_a_language_code_is_one_piece() -> None:
    coded = tokenizer([CODE, *PIECES])
    assert coded.encode(f"{CODE} {LINES[0]}") == [4, *coded.encode(LINES[0])]
    assert coded.pieces(f"{CODE} {LINES[0]}")[0] == CODE
    assert tokenizer(PIECES).encode(f"{CODE} {LINES[0]}")[0] == UNK


def test_special_symbols_vanish() -> None:
    both = tokenizer(PIECES)
    assert both.decode([2, *both.encode(LINES[0]), 3, 0]) == both.decode(both.encode(LINES[0]))


def test_save_is_load(tmp_path: Path) -> None:
    saved = Tokenizers(tokenizer(PIECES), tokenizer(PIECES[::-1]))
    saved.save(tmp_path)
    loaded = load_tokenizers(tmp_path)
    assert not loaded.joint
    for before, after in zip(saved, loaded, strict=True):
        assert after.fingerprint == before.fingerprint
        assert after.encode(LINES[1]) == before.encode(LINES[1])
        assert [after.piece(index) for index in range(80)] == [before.piece(index) for index in range(80)]
    assert saved.source.fingerprint != saved.target.fingerprint


@pytest.mark.parametrize(
    ("name", "message"),
    [("tokenizer.source.spm", "is missing"), ("tokenizer.source.vocab", "No vocabulary at")],
)
def test_a_file_that_is_missing(tmp_path: Path, name: str, message: str) -> None:
    Tokenizers(tokenizer(PIECES), tokenizer(PIECES)).save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(HeedfulError, match=message):
        load_tokenizers(tmp_path)


def test_cannot_be_learned() -> None:
    with pytest.raises(ConfigError, match='kind = "pieces" is imported with its model, and cannot be learned'):
        train_tokenizer(SETTINGS, LINES, seed=1)
