"""With a shortlist a sentence emits its own candidates only, whatever stands beside it; one of everything is none."""

from pathlib import Path
from typing import ClassVar

import pytest
import torch
from tests.decoding.letters import TOKENIZERS, translator

from heedful.data.batch import collate
from heedful.decoding.ensemble import Ensemble
from heedful.decoding.rules import OutputRules
from heedful.decoding.search import Request
from heedful.decoding.shortlist import Shortlist, load_shortlist, save_shortlist, shortlist_of, vocabulary_map
from heedful.decoding.translator import Translator
from heedful.errors import HeedfulError
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

LINES = ["a b c", "", "f", "a b c d e f a b c", "c c", "unheard a", "d"]
V = len(TOKENIZERS.target)
LETTER = {letter: TOKENIZERS.target.encode(letter)[0] for letter in "abcdef."}
SEARCHES: list[dict[str, object]] = [
    {"beam": 1},
    {"beam": 3},
    {"temperature": 1.0},
    {"samples": 6, "candidates": "both", "utility": "edit"},
]
EVERY_SEARCH = pytest.mark.parametrize("search", SEARCHES, ids=["greedy", "beam", "sampling", "mbr"])


def table(calls: dict[str, str]) -> Shortlist:
    """A shortlist from letters to strings of letters; only the special ids are always there."""
    likely = torch.full((V, 2), -1)
    for letter, targets in calls.items():
        for place, target in enumerate(targets):
            likely[LETTER[letter], place] = LETTER[target]
    return shortlist_of(likely, [], V)


NEXT = table({"a": "bc", "b": "c", "c": "d", "d": "e", "e": "fa", "f": "a"})


def narrowed(shortlist: Shortlist, search: dict[str, object]) -> Translator:
    made = translator({**search, "shortlist": True})
    return translator_of(made.backend.model, made.tokenizers, made.search, shortlist)


@EVERY_SEARCH
def test_of_everything_is_none(search: dict[str, object]) -> None:
    everything = shortlist_of(torch.full((V, 1), -1), range(V), V)
    for left, right in zip(
        translator(search).translate(LINES), narrowed(everything, search).translate(LINES), strict=True
    ):
        assert left.text == right.text
        assert left.n_best[0].log_p == pytest.approx(right.n_best[0].log_p, abs=1e-5)


@EVERY_SEARCH
def test_each_sentence_has_its_own_candidates(search: dict[str, object]) -> None:
    made = narrowed(NEXT, {**search, "max_extra": 8})
    together = made.translate(LINES)
    emitted = set()
    for line, found in zip(LINES, together, strict=True):
        source = TOKENIZERS.source.encode(line)
        allowed = {TOKENIZERS.target.piece(i) for i in NEXT.allowed(source).nonzero()[:, 0].tolist()}
        assert {token.piece for token in found.tokens} <= allowed
        emitted |= {token.piece for token in found.tokens}
        [alone] = made.translate([line])
        assert (alone.text, alone.n_best[0].log_p) == (found.text, pytest.approx(found.n_best[0].log_p, abs=1e-5))
    assert len(emitted) > 2


def test_probabilities_are_those_among_the_candidates() -> None:
    made = narrowed(NEXT, {"beam": 2})
    [found] = made.translate(["a b c"])
    ids = [LETTER.get(token.piece, 1) for token in found.tokens[:-1]]
    source = TOKENIZERS.source.encode("a b c")
    batch = collate([(source, ids)], [0])
    logits = made.backend.model.logits(made.backend.model(batch.src, batch.src_mask, batch.tgt_in))[0]
    allowed = NEXT.allowed(source)
    allowed[[0, 2]] = False  # PAD and BOS are no outputs, but stay in the sum, as they do without a shortlist
    among = logits.masked_fill(~NEXT.allowed(source), float("-inf")).log_softmax(-1)
    assert [token.log_p for token in found.tokens] == pytest.approx(
        [among[t, i].item() for t, i in enumerate([*ids, 3])], abs=1e-5
    )


def test_what_is_asked_for_is_a_candidate() -> None:
    """Prefix, required and forbidden phrases, with words that the source does not call for."""
    made = narrowed(NEXT, {"beam": 4, "max_extra": 6})
    rules = [OutputRules(["f ."], ["b"]), OutputRules(), OutputRules([], ["a", "b c"])]
    found = made.translate(["a b", "a b", "e a"], prefixes=["e", ".", ""], rules=rules)
    assert found[0].text.startswith("e")
    assert "f ." in found[0].text
    assert "b" not in found[0].text
    assert set(found[0].text.split()) <= set("efc.d⁇")
    assert found[1].text.startswith(".")
    assert "a" not in found[2].text
    for number, line in enumerate(["a b", "a b", "e a"]):
        [alone] = made.translate([line], prefixes=[["e", ".", ""][number]], rules=[rules[number]])
        assert alone.text == found[number].text


def test_candidates_by_hand() -> None:
    shortlist = shortlist_of(torch.tensor([[-1, -1]] * 4 + [[7, 5], [6, -1]]), [7], 9)
    assert shortlist.always.tolist() == [0, 1, 2, 3, 7]
    assert shortlist.candidates(4) == [5]
    assert shortlist.candidates(5) == [6]
    assert shortlist.allowed([5]).nonzero()[:, 0].tolist() == [0, 1, 2, 3, 6, 7]
    narrow = shortlist.narrow([[4], [5, 5]], [Request(3, (8,)), Request(3)])
    assert narrow.ids.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert narrow.allowed.tolist()[0] == [True] * 4 + [True, False, True, True]
    assert narrow.allowed.tolist()[1] == [True] * 4 + [False, True, True, False]
    assert narrow.renumbered([Request(3, (8,), [(7, 5)])])[0][:3] == (3, [7], [[6, 4]])


def test_there_must_be_one() -> None:
    with pytest.raises(HeedfulError, match=r"this model has none\.\nhint: Make one: heedful shortlist RUN"):
        translator({"shortlist": True}).translate(["a"])


def test_together_with_an_ensemble_prefixes_and_phrases() -> None:
    """All at once; and an ensemble of the same model twice is that model here too."""
    alone = narrowed(NEXT, {"beam": 4, "max_extra": 6})
    twice = translator_of(Ensemble([alone.backend.model, alone.backend.model]), alone.tokenizers, alone.search, NEXT)
    asked = {
        "prefixes": ["e", "", "c"],
        "rules": [OutputRules(["f ."], ["b"]), OutputRules([], ["c"]), OutputRules(["d d"], ["e"])],
    }
    lines = ["a b", "a b c", "b"]
    for left, right in zip(alone.translate(lines, **asked), twice.translate(lines, **asked), strict=True):
        assert left.text == right.text
        assert left.score == pytest.approx(right.score, abs=1e-5)


class TestVocabularyMap:
    SHORTLIST = shortlist_of(torch.tensor([[-1, -1]] * 4 + [[7, 5], [7, -1]]), [7], 9)
    SYMBOLS: ClassVar = ["<pad>", "<unk>", "<s>", "</s>", *"abcde"]

    def test_lines(self) -> None:
        assert vocabulary_map(self.SHORTLIST, self.SYMBOLS[:6], self.SYMBOLS) == [
            "\t<pad> <unk> <s> </s> d",
            "a\tb",
        ]

    @pytest.mark.parametrize("symbol", ["", " ", "a b", "a\tb", "a\n"])
    def test_symbols_that_do_not_fit(self, symbol: str) -> None:
        with pytest.raises(ValueError, match="A vocabulary map cannot hold the symbol"):
            vocabulary_map(self.SHORTLIST, [*self.SYMBOLS[:5], symbol], self.SYMBOLS)


class TestFiles:
    def test_saved_is_loaded(self, tmp_path: Path) -> None:
        save_shortlist(tmp_path, NEXT, TOKENIZERS)
        loaded = load_shortlist(tmp_path, TOKENIZERS)
        assert loaded is not None
        assert torch.equal(loaded.likely, NEXT.likely)
        assert torch.equal(loaded.always, NEXT.always)
        assert loaded.target_size == V

    def test_none(self, tmp_path: Path) -> None:
        assert load_shortlist(tmp_path, TOKENIZERS) is None

    def test_of_other_tokenizers(self, tmp_path: Path) -> None:
        save_shortlist(tmp_path, NEXT, TOKENIZERS)
        kind = TokenizerConfig(joint=True, source=SideConfig(kind="words"))
        with pytest.raises(HeedfulError, match=r"is of other tokenizers, or of another version"):
            load_shortlist(tmp_path, train_tokenizers(kind, [("x y", "y")], seed=1))

    def test_damaged(self, tmp_path: Path) -> None:
        save_shortlist(tmp_path, NEXT, TOKENIZERS)
        (tmp_path / "shortlist.safetensors").write_bytes(b"nothing")
        with pytest.raises(HeedfulError, match="is damaged"):
            load_shortlist(tmp_path, TOKENIZERS)
