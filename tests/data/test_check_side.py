"""What is odd in the texts of one side, planted one at a time in a corpus that has nothing else."""

from collections.abc import Sequence

import pytest

from heedful.data.check import Finding, Limits, check_splits, read_splits
from heedful.data.corpus import Pair
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizers

CLEAN = [Pair(f"the dog number {n} runs away", f"der Hund Nummer {n} rennt ganz schnell weg") for n in range(60)]


def findings(pairs: Sequence[Pair], tokenizers: Tokenizers | None = None, kind: str | None = None) -> list[Finding]:
    found = check_splits(read_splits({"train": lambda: pairs}, tokenizers), Limits())
    return [finding for finding in found if finding.kind == (kind or finding.kind) and finding.kind != "length ratio"]


def tokenizers(kind: str, **settings: object) -> Tokenizers:
    side = SideConfig(kind=kind, **settings)  # type: ignore[arg-type]
    return train_tokenizers(TokenizerConfig(joint=True, source=side), CLEAN, seed=1)


def with_pair(place: int, source: str, target: str) -> list[Pair]:
    pairs = list(CLEAN)
    pairs[place] = Pair(source, target)
    return pairs


def test_nothing() -> None:
    assert findings(CLEAN) == []
    assert findings(CLEAN, tokenizers("characters")) == []
    assert findings(CLEAN, tokenizers("words")) == []


class TestInvisible:
    @pytest.mark.parametrize(
        ("sign", "name"),
        [
            ("\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
            ("\u200b", "U+200B ZERO WIDTH SPACE"),
            ("\u2028", "U+2028 LINE SEPARATOR"),
            ("\u00ad", "U+00AD SOFT HYPHEN"),
            ("\u2060", "U+2060 WORD JOINER"),
            ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
            ("\u3164", "U+3164 HANGUL FILLER"),
        ],
    )
    @pytest.mark.parametrize("side", ["source", "target"])
    def test_inside_a_text(self, sign: str, name: str, side: str) -> None:
        texts = {"source": CLEAN[7].source, "target": CLEAN[7].target}
        texts[side] = f"{texts[side][:3]}{sign}{texts[side][3:]}"
        (found,) = findings(with_pair(7, **texts))
        assert (found.severity, found.kind, found.place) == ("warning", "invisible characters", "train:8")
        assert found.text == f"1 line on the {side} side with invisible characters ({name})."

    @pytest.mark.parametrize("text", ["می\u200cخواهم", "क्\u200dष", "👩\u200d🔬 ☺\ufe0f", "no\u00a0break", "é"])
    def test_what_scripts_are_written_with(self, text: str) -> None:
        assert findings(with_pair(7, text, "der Hund")) == []

    @pytest.mark.parametrize("text", ["\u200b", "\u00ad \u200b", "\ufeff\t"])
    def test_alone_they_are_an_empty_line(self, text: str) -> None:
        kinds = [finding.kind for finding in findings(with_pair(7, text, "der Hund"))]
        assert kinds == ["empty", "invisible characters"]


class TestRows:
    @pytest.mark.parametrize("row", ["{}\t{}", '{{"a": "{}", "b": "{}"}}'])
    def test_two_tables(self, row: str) -> None:
        pairs = [Pair(row.format(*pair), row.format(*reversed(pair))) for pair in CLEAN]
        (found,) = findings(pairs)
        assert (found.severity, found.kind, found.place) == ("error", "table", "train")
        assert found.text == "Nearly all lines of both sides look like rows of a table, with tabs or as JSON."

    def test_one_table(self) -> None:
        (found,) = findings([Pair(f"{source}\tx", target) for source, target in CLEAN])
        assert (found.severity, found.kind) == ("warning", "table")
        assert "the source side" in found.text

    def test_a_tab_here_and_there(self) -> None:
        assert findings(with_pair(3, "a\tdog and more", "b\tHund und mehr")) == []


class TestHeader:
    def test_a_word_each_among_sentences(self) -> None:
        (found,) = findings(with_pair(0, "Englisch_1", "Deutsch"))
        assert (found.severity, found.kind, found.place) == ("warning", "header", "train:1")
        assert "'Englisch_1' / 'Deutsch'" in found.text

    @pytest.mark.parametrize("pair", [("Go!", "Va !"), ("a dog", "Hund"), ("Hi", "ein Hund")])
    def test_a_short_sentence(self, pair: tuple[str, str]) -> None:
        assert findings(with_pair(0, *pair)) == []

    def test_among_words(self) -> None:
        assert findings([Pair(f"word{n}", f"Wort{n}") for n in range(30)], kind="header") == []


class TestGivenBack:
    """`decode(encode(target))` against the target, up to white space and equal Unicode forms."""

    def lost(self, target: str, made: Tokenizers) -> list[str]:
        return [finding.text for finding in findings(with_pair(7, CLEAN[7].source, target), made, "not written")]

    def test_the_compatible_form_loses_characters(self) -> None:
        made = tokenizers("characters", unicode_form="NFKC")
        (text,) = self.lost("der Hund … ½ ²", made)
        assert text == (
            "1 of 60 targets cannot be given back by the tokenizer, so that no model writes them exactly: "
            "U+00B2 ² SUPERSCRIPT TWO, U+00BD ½ VULGAR FRACTION ONE HALF, U+2026 … HORIZONTAL ELLIPSIS."
        )

    def test_subwords(self) -> None:
        made = tokenizers("sentencepiece", vocab_size=40)
        (text,) = self.lost("der Hund…", made)
        assert "U+2026 … HORIZONTAL ELLIPSIS" in text

    def test_equal_forms_and_white_space_are_no_loss(self) -> None:
        pairs = [*CLEAN, Pair("a", "Müller é")]
        for form in ("NFC", "NFD"):
            side = SideConfig(kind="characters", unicode_form=form)  # type: ignore[arg-type]
            made = train_tokenizers(TokenizerConfig(joint=True, source=side), pairs, seed=1)
            for text in ("Mu\u0308ller e\u0301", "Müller é", " Müller  é "):
                assert self.lost(text, made) == []

    def test_an_unknown_character_and_a_capital(self) -> None:
        (text,) = self.lost("der Hund ☃", tokenizers("characters"))
        assert text.endswith("exactly: U+2603 ☃ SNOWMAN.")
        (text,) = self.lost("der Hund", tokenizers("characters", lowercase=True))
        assert text.startswith("60 of 60 targets")
        assert "U+0048 H LATIN CAPITAL LETTER H" in text

    def test_an_unknown_word(self) -> None:
        (text,) = self.lost("der Schneemann", tokenizers("words"))
        assert text.endswith("exactly: 'Schneemann'.")

    def test_sources_are_only_read(self) -> None:
        assert findings(with_pair(7, "the dog ☃", CLEAN[7].target), tokenizers("characters"), "not written") == []


class TestNewLabels:
    TRAIN = [Pair(f"some text {n}", ("good", "bad")[n % 2]) for n in range(40)]  # noqa: RUF012
    DEV = [Pair("another text", "ugly")]  # noqa: RUF012

    def found(self, whole_words: bool | None) -> list[Finding]:
        read = read_splits({"train": lambda: self.TRAIN, "dev": lambda: self.DEV})
        return [one for one in check_splits(read, Limits(whole_words=whole_words)) if one.kind == "unknown labels"]

    def test_of_a_model_that_spells(self) -> None:
        assert self.found(whole_words=False) == []

    @pytest.mark.parametrize("whole_words", [True, None, False])
    def test_two_words_among_labels(self, whole_words: bool | None) -> None:
        read = read_splits({"train": lambda: [*self.TRAIN, Pair("a text", "very good")]})
        kinds = [one.kind for one in check_splits(read, Limits(whole_words=whole_words))]
        assert ("labels" in kinds) is (whole_words is not False)

    def test_of_one_that_does_not(self) -> None:
        (found,) = self.found(whole_words=True)
        assert found.hint == "A model that writes whole words, or gives labels, can never give it."

    def test_where_nobody_says_which(self) -> None:
        (found,) = self.found(whole_words=None)
        assert found.hint.endswith("can never give it; one that writes characters or subwords can.")
