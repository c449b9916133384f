"""Utilities against sacrebleu and hand values; the choice against a plain double loop."""

import random
from collections.abc import Sequence

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from heedful.decoding.mbr import Utility, best_expected, utility_of
from heedful.decoding.search import Hypothesis

TEXTS = [
    "the cat sat on the mat .",
    "the the the the",
    "",
    "a",
    "The cat, sat!",
    "sat on the mat the cat",
    "на м​ате 猫",
]
WORDS = ["ab", "cd", "abc", "d", "."]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def plain(name: str, text: str, reference: str) -> float:
    """The same utility by somebody else's code, one pair at a time."""
    if name == "chrf":
        return sacrebleu.CHRF().sentence_score(text, [reference]).score
    if name == "bleu":
        return sacrebleu.BLEU(effective_order=True).sentence_score(text, [reference]).score
    units = (text.split(), reference.split()) if name == "edit" else (text, reference)
    longest = max(map(len, units))
    return 100 * (1 - Levenshtein.distance(*units) / longest) if longest else 100.0


@pytest.mark.parametrize("name", ["chrf", "bleu", "edit", "edit-characters"])
class TestUtilities:
    def test_each_pair(self, name: str) -> None:
        table = utility_of(name).table(TEXTS, TEXTS[::-1])
        for row, text in enumerate(TEXTS):
            assert table[row].tolist() == pytest.approx([plain(name, text, other) for other in TEXTS[::-1]], abs=1e-9)

    @given(ours=st.lists(texts, min_size=1, max_size=4), theirs=st.lists(texts, min_size=1, max_size=4))
    @settings(max_examples=25, deadline=None)
    def test_any_pair(self, name: str, ours: list[str], theirs: list[str]) -> None:
        table = utility_of(name).table(ours, theirs)
        for row, text in enumerate(ours):
            assert table[row].tolist() == pytest.approx([plain(name, text, other) for other in theirs], abs=1e-9)


def test_unknown_utility() -> None:
    with pytest.raises(ValueError, match=r"`name` must be one of chrf, bleu, edit, edit-characters, but is 'comet'"):
        utility_of("comet")


def drawn(texts: Sequence[str]) -> list[Hypothesis]:
    """Hypotheses whose ids are the code points of their texts; earlier ones are more probable."""
    return [Hypothesis([ord(c) for c in text], -float(n), -float(n), []) for n, text in enumerate(texts)]


def text_of(ids: list[int]) -> str:
    """The text of such a hypothesis."""
    return "".join(map(chr, ids))


class TestChoice:
    def test_by_hand(self) -> None:
        """u("a b", .) = 100, 50, 0 against the three samples, and so on: the one in the middle wins."""
        samples = drawn(["a b", "a c", "d c"])
        ranked = best_expected(samples, samples, text_of, utility_of("edit"))
        assert [text_of(one.ids) for one in ranked] == ["a c", "a b", "d c"]
        assert [one.score for one in ranked] == pytest.approx([200 / 3, 50, 50])

    def test_samples_count_as_often_as_drawn(self) -> None:
        samples = drawn(["a c", "d d", "d d", "d d"])
        ranked = best_expected(samples, samples, text_of, utility_of("edit"))
        assert [(text_of(one.ids), one.score) for one in ranked] == [("d d", 75.0), ("a c", 25.0)]
        assert ranked[0].log_p == -1.0

    def test_candidates_need_not_be_samples(self) -> None:
        ranked = best_expected(drawn(["x", "a b"]), drawn(["a c", "d b"]), text_of, utility_of("edit"))
        assert [(text_of(one.ids), one.score) for one in ranked] == [("a b", 50.0), ("x", 0.0)]

    @pytest.mark.parametrize("name", ["chrf", "bleu", "edit"])
    @pytest.mark.parametrize("seed", range(3))
    def test_is_a_double_loop(self, name: str, seed: int) -> None:
        chance = random.Random(seed)
        lines = [" ".join(chance.choices(WORDS, k=chance.randrange(1, 6))) for _ in range(20)]
        ranked = best_expected(drawn(lines), drawn(lines), text_of, utility_of(name))
        means = {text: sum(plain(name, text, other) for other in lines) / len(lines) for text in lines}
        assert {text_of(one.ids): one.score for one in ranked} == pytest.approx(means, abs=1e-6)
        assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)

    def test_each_pair_of_texts_is_compared_once(self) -> None:
        class Counting(Utility):
            name = "counting"
            pairs: list[tuple[str, str]] = []  # noqa: RUF012

            def table(self, texts: Sequence[str], references: Sequence[str]) -> object:  # pyright: ignore
                self.pairs += [(a, b) for a in texts for b in references]
                return utility_of("edit").table(texts, references)

        counting = Counting()
        samples = drawn(["a", "b", "a", "a", "b"])
        best_expected(samples, samples, text_of, counting)
        assert sorted(counting.pairs) == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
