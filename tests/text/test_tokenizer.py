"""Text to ids and back, for every kind of tokeniser."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.made_up import sentences

from heedful.errors import ConfigError, HeedfulError
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.normalise import TextNormaliser
from heedful.text.tokenizer import (
    Tokenizer,
    Tokenizers,
    _sample,
    load_tokenizer,
    load_tokenizers,
    train_tokenizer,
    train_tokenizers,
)
from heedful.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK

LINES = sentences(400)
PAIRS = [(line, line.upper()) for line in LINES]
KINDS: list[dict[str, Any]] = [
    {"algorithm": "unigram", "vocab_size": 200},
    {"algorithm": "bpe", "vocab_size": 200},
    {"algorithm": "bpe", "vocab_size": 200, "lowercase": True, "unicode_form": "NFD"},
    {"kind": "characters"},
    {"kind": "characters", "unicode_form": "NFD", "lowercase": True},
    {"kind": "words", "vocab_size": 150},
    {"kind": "words", "unicode_form": "none"},
]
TRAINED = [train_tokenizer(SideConfig(**kind), LINES, seed=1) for kind in KINDS]
each_kind = pytest.mark.parametrize("tokenizer", TRAINED, ids=[" ".join(map(str, kind.values())) for kind in KINDS])
any_text = st.text(st.characters(codec="utf-8", exclude_characters="⁇"), max_size=40)
known_text = st.lists(st.sampled_from(LINES), max_size=3).map(" ".join)


def expected(tokenizer: Tokenizer, text: str) -> str:
    """What decode(encode(text)) must be where no symbol is unknown, said anew."""
    config = tokenizer.config
    form: Any = config.unicode_form or ("NFKC" if config.kind == "sentencepiece" else "NFC")
    text = text if form == "none" else unicodedata.normalize(form, text)
    text = text.lower() if config.lowercase else text
    text = text if config.kind == "characters" else " ".join(text.split())
    return unicodedata.normalize("NFC", text) if form == "NFD" else text


@each_kind
class TestEveryKind:
    @given(text=known_text)
    @settings(max_examples=30)
    def test_decode_undoes_encode(self, tokenizer: Tokenizer, text: str) -> None:
        ids = tokenizer.encode(text)
        if UNK not in ids:
            assert tokenizer.decode(ids) == expected(tokenizer, text)

    @given(text=any_text)
    def test_any_text(self, tokenizer: Tokenizer, text: str) -> None:
        """Every text has ids of the vocabulary, one piece each, and none of them is special."""
        ids = tokenizer.encode(text)
        assert all(index == UNK or len(SPECIALS) <= index < len(tokenizer) for index in ids)
        assert len(tokenizer.pieces(text)) == len(ids)
        assert (UNK in ids) == ("⁇" in tokenizer.decode(ids))

    @given(text=any_text)
    def test_encoding_what_was_decoded_gives_the_same_ids(self, tokenizer: Tokenizer, text: str) -> None:
        ids = tokenizer.encode(text)
        if UNK not in ids:
            assert tokenizer.encode(tokenizer.decode(ids)) == ids

    def test_blank_text_of_all_kinds(self, tokenizer: Tokenizer) -> None:
        assert tokenizer.encode("") == []
        assert tokenizer.decode([]) == ""
        if tokenizer.config.kind != "characters":
            assert tokenizer.encode(" \t\u3000 ") == []

    def test_encode_all(self, tokenizer: Tokenizer) -> None:
        texts = [*LINES[:20], "", "☃ never seen ☃☃"]
        assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]

    def test_special_ids_vanish_and_unknown_ones_show(self, tokenizer: Tokenizer) -> None:
        ids = tokenizer.encode(LINES[0])
        assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == tokenizer.decode(ids)
        assert tokenizer.decode([UNK]).strip() == "⁇"

    def test_pieces_are_what_ids_stand_for(self, tokenizer: Tokenizer) -> None:
        known = [
            (p, i) for p, i in zip(tokenizer.pieces(LINES[1]), tokenizer.encode(LINES[1]), strict=True) if i != UNK
        ]
        assert known
        assert [tokenizer.piece(index) for _, index in known] == [piece for piece, _ in known]
        assert [tokenizer.piece(index) for index in range(4)] == list(SPECIALS)

    def test_piece_out_of_range(self, tokenizer: Tokenizer) -> None:
        with pytest.raises(
            ValueError, match=rf"`index` must be in 0\.\.{len(tokenizer) - 1}, but is {len(tokenizer)}\."
        ):
            tokenizer.piece(len(tokenizer))

    def test_save_and_load(self, tokenizer: Tokenizer, tmp_path: Path) -> None:
        tokenizer.save(tmp_path, "source")
        loaded = load_tokenizer(tmp_path, "source")
        assert type(loaded) is type(tokenizer)
        assert loaded.fingerprint == tokenizer.fingerprint
        assert loaded.encode_all(LINES) == tokenizer.encode_all(LINES)

    def test_training_again_gives_the_same(self, tokenizer: Tokenizer) -> None:
        assert train_tokenizer(tokenizer.config, LINES, seed=1).fingerprint == tokenizer.fingerprint

    def test_without_sampling_sample_is_encode(self, tokenizer: Tokenizer) -> None:
        assert not tokenizer.samples
        assert tokenizer.sample(LINES[2], seed=3) == tokenizer.encode(LINES[2])


def test_fingerprints_differ() -> None:
    """By what was learned, and by settings that change ids, but not by sampling."""
    assert len({tokenizer.fingerprint for tokenizer in TRAINED}) == len(TRAINED)
    config = SideConfig(vocab_size=200, sampling=0.1)
    assert train_tokenizer(config, LINES, seed=1).fingerprint == TRAINED[0].fingerprint


def test_sentencepiece_has_exactly_the_size_asked_for() -> None:
    assert [len(tokenizer) for tokenizer in TRAINED[:2]] == [200, 200]


def test_words_and_characters_keep_the_most_frequent() -> None:
    words = train_tokenizer(SideConfig(kind="words", vocab_size=6), ["b a c", "a b", "a"], seed=1)
    assert words.pieces("a b c") == ["a", "b", "c"]
    assert words.encode("a b c") == [4, 5, UNK]
    assert words.decode([4, UNK, 5]) == "a ⁇ b"
    characters = train_tokenizer(SideConfig(kind="characters", vocab_size=7), ["a a", "ab"], seed=1)
    assert characters.encode("ab c") == [4, 6, 5, UNK]
    assert characters.pieces("ab c") == ["a", "b", "▁", "c"]
    assert characters.decode([4, 6, 5, UNK]) == "ab ⁇"


def test_characters_keep_blanks_and_every_line_of_text() -> None:
    characters = train_tokenizer(SideConfig(kind="characters"), ["a b \t\u2028▁"], seed=1)
    text = "  b\ta \u2028▁ "
    assert characters.decode(characters.encode(text)) == text


def test_hangul_as_jamo_and_back() -> None:
    jamo = train_tokenizer(SideConfig(kind="characters", unicode_form="NFD"), ["한국어"], seed=1)
    assert len(jamo.encode("한국어")) == 8
    assert jamo.decode(jamo.encode("한국어")) == "한국어"
    assert UNK not in jamo.encode("하")


def test_lower_case_leaves_the_form_intact() -> None:
    """Lower-casing İ gives two code points; NFKC of ℡ gives capitals."""
    for form in ("NFC", "NFD", "NFKC"):
        normaliser = TextNormaliser(form, lowercase=True, single_blanks=False)
        for text in ("İSTANBUL", "℡", "ΣΑΣ", "Ǆ"):
            assert normaliser(normaliser(text)) == normaliser(text)
            assert normaliser(text) == normaliser(text).lower()


def test_the_sign_for_blanks_counts_as_a_blank() -> None:
    assert TRAINED[0].encode("a▁b") == TRAINED[0].encode("a b")


class TestTooLittleText:
    def test_size_too_large(self) -> None:
        with pytest.raises(
            ConfigError, match=r"`vocab_size` is 8000, but this text gives (\d+) different pieces at most\."
        ) as caught:
            train_tokenizer(SideConfig(), LINES[:30], seed=1)
        assert caught.value.hint is not None
        largest = int(caught.value.hint.removeprefix("Set it to at most ").split(":")[0])
        assert len(train_tokenizer(SideConfig(vocab_size=largest), LINES[:30], seed=1)) == largest

    def test_size_too_small(self) -> None:
        with pytest.raises(
            ConfigError, match=r"`vocab_size` is 10, but the characters of this text alone need \d+\."
        ) as caught:
            train_tokenizer(SideConfig(vocab_size=10), LINES, seed=1)
        assert caught.value.hint is not None
        assert "character_coverage" in caught.value.hint

    @pytest.mark.parametrize("kind", ["sentencepiece", "characters", "words"])
    def test_no_text(self, kind: Any) -> None:
        with pytest.raises(HeedfulError, match="no text to learn a tokenizer from"):
            train_tokenizer(SideConfig(kind=kind), ["", "  "], seed=1)


class TestLoadingWhatIsNotThere:
    def test_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(HeedfulError, match="holds no source tokenizer"):
            load_tokenizers(tmp_path)

    def test_model_missing(self, tmp_path: Path) -> None:
        TRAINED[0].save(tmp_path, "joint")
        (tmp_path / "tokenizer.joint.spm").unlink()
        with pytest.raises(HeedfulError, match=r"tokenizer\.joint\.spm is missing"):
            load_tokenizers(tmp_path)

    def test_model_damaged(self, tmp_path: Path) -> None:
        TRAINED[0].save(tmp_path, "joint")
        (tmp_path / "tokenizer.joint.spm").write_bytes(b"not a model")
        with pytest.raises(HeedfulError, match="is no sentencepiece model of Heedful"):
            load_tokenizers(tmp_path)


class TestBothSides:
    def test_joint(self, tmp_path: Path) -> None:
        both = train_tokenizers(TokenizerConfig(source=SideConfig(vocab_size=200)), PAIRS, seed=1)
        assert both.joint
        assert UNK not in both.source.encode(LINES[0] + LINES[0].upper())
        both.save(tmp_path)
        loaded = load_tokenizers(tmp_path)
        assert loaded.joint
        assert loaded.source.fingerprint == both.source.fingerprint

    def test_separate_from_one_pass(self, tmp_path: Path) -> None:
        config = TokenizerConfig(joint=False, source=SideConfig(kind="characters"), target=SideConfig(kind="words"))
        both = train_tokenizers(config, iter(PAIRS), seed=1)
        assert not both.joint
        assert both.source.fingerprint == TRAINED[3].fingerprint
        assert both.target.decode(both.target.encode(LINES[0].upper())) == LINES[0].upper()
        both.save(tmp_path)
        loaded = load_tokenizers(tmp_path)
        assert [side.fingerprint for side in loaded] == [side.fingerprint for side in both]

    def test_target_left_out_has_the_settings_of_the_source(self) -> None:
        config = TokenizerConfig(joint=False, source=SideConfig(kind="words"))
        both = train_tokenizers(config, PAIRS, seed=1)
        assert both.target.config.kind == "words"
        assert both.target.fingerprint != both.source.fingerprint

    def test_saving_replaces_the_other_way_round(self, tmp_path: Path) -> None:
        Tokenizers(TRAINED[0], TRAINED[0]).save(tmp_path)
        Tokenizers(TRAINED[3], TRAINED[5]).save(tmp_path)
        assert not load_tokenizers(tmp_path).joint
        Tokenizers(TRAINED[0], TRAINED[0]).save(tmp_path)
        assert load_tokenizers(tmp_path).joint

    def test_samples_if_either_side_does(self) -> None:
        sampling = train_tokenizer(SideConfig(vocab_size=200, sampling=0.2), LINES, seed=1)
        assert Tokenizers(TRAINED[3], sampling).samples
        assert not Tokenizers(TRAINED[3], TRAINED[0]).samples


class TestSampleOfLines:
    def test_all_where_they_fit(self) -> None:
        assert _sample(range(10), 10, seed=1) == list(range(10))

    def test_in_order_without_repetition_and_by_seed(self) -> None:
        chosen = _sample(range(1000), 50, seed=1)
        assert len(set(chosen)) == 50
        assert chosen == sorted(chosen)
        assert chosen == _sample(range(1000), 50, seed=1)
        assert chosen != _sample(range(1000), 50, seed=2)

    def test_every_item_is_as_likely(self) -> None:
        """The mean place of 200 samples of 20 of 100: standard error 0.45 around 49.5."""
        places = [place for seed in range(200) for place in _sample(range(100), 20, seed)]
        assert abs(sum(places) / len(places) - 49.5) < 4 * 0.45


def test_real_text(shared_data: Path) -> None:
    """Multi30k's German and English come back letter by letter, and nothing is unknown."""
    from heedful.data.corpus import read_pairs

    raw = shared_data / "multi30k" / "raw"
    pairs = list(read_pairs([raw / "val.en.gz", raw / "val.de.gz"]))
    both = train_tokenizers(TokenizerConfig(source=SideConfig(vocab_size=2000, algorithm="bpe")), pairs, seed=1)
    for pair in pairs:
        for text in pair:
            assert both.source.decode(both.source.encode(text)) == " ".join(unicodedata.normalize("NFKC", text).split())


def test_a_separator_is_the_end_of_a_part() -> None:
    config = SideConfig(kind="words", separator="|||")
    tokenizer = train_tokenizer(config, ["a b ||| c", "c |||"], seed=1)
    assert len(tokenizer) == len(SPECIALS) + 3  # it is no symbol of the text
    a, b, c = (tokenizer.encode(word)[0] for word in "abc")
    assert tokenizer.encode("a b ||| c |||") == [a, b, EOS, c, EOS]
    assert tokenizer.pieces("a ||| b") == ["a", "|||", "b"]
    assert tokenizer.decode(tokenizer.encode("a b ||| c")) == "a b c"
    without = train_tokenizer(SideConfig(kind="words"), ["a b c c"], seed=1)
    assert without.content() == tokenizer.content()
    assert without.fingerprint != tokenizer.fingerprint


@pytest.mark.parametrize("settings", [{"kind": "characters", "separator": "|"}, {"kind": "words", "separator": "| |"}])
def test_a_separator_is_one_word(settings: dict) -> None:
    with pytest.raises(ValueError, match="separator is one word of kind"):
        SideConfig(**settings)
