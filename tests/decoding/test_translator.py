"""From text to text: every kind of line, in any batch, in order, and consistent with scoring and tracing."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.letters import translator

from heedful.decoding.translation import Candidate, Translation
from heedful.errors import HeedfulError
from heedful.trace import check_trace

LINES = ["a b c", "", "f", "a b c d e f a b c", "  ", "c c", "a b c", "unheard a", "d"]
SEARCHES: dict[str, dict[str, object]] = {
    "greedy": {"beam": 1},
    "beam": {},
    "sampling": {"temperature": 1.0},
    "sampling with cuts": {"temperature": 1.5, "top_k": 3, "top_p": 0.9},
}
EVERY_SEARCH = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())


def same(left: Translation, right: Translation) -> bool:
    """Equal texts and warnings, and numbers that differ by rounding only."""
    texts, numbers = [], []
    for found in (left, right):
        texts.append((found.warnings, found.unknown, [candidate.text for candidate in found.n_best]))
        numbers.append([number for candidate in found.n_best for number in (candidate.score, candidate.log_p)])
    return texts[0] == texts[1] and numbers[0] == pytest.approx(numbers[1], abs=1e-5)


@EVERY_SEARCH
class TestLines:
    def test_blank_lines_give_blank_lines(self, search: dict[str, object]) -> None:
        nothing = Translation("", 0.0, [], [Candidate("", 0.0, 0.0, [])], [])
        assert translator(search).translate(["", "   ", "\t"]) == [nothing] * 3
        assert translator(search).translate([]) == []

    def test_one_line_in_one_line_out_in_order(self, search: dict[str, object]) -> None:
        made = translator(search)
        together = made.translate(LINES)
        assert len(together) == len(LINES)
        for line, found in zip(LINES, together, strict=True):
            assert same(found, made.translate([line])[0])

    @pytest.mark.parametrize("max_tokens", [1, 20])
    def test_the_size_of_batches_changes_nothing(self, search: dict[str, object], max_tokens: int) -> None:
        wide = translator(search).translate(LINES, n_best=2 if search.get("beam") != 1 else 1)
        narrow = translator({**search, "max_tokens": max_tokens}).translate(LINES, n_best=len(wide[0].n_best))
        assert all(same(left, right) for left, right in zip(wide, narrow, strict=True))

    def test_tokens_add_up(self, search: dict[str, object]) -> None:
        for found in translator(search).translate(LINES):
            if found.tokens:
                assert found.tokens[-1].piece == "</s>"
                assert " ".join(token.piece for token in found.tokens[:-1]).replace("<unk>", "⁇") == found.text
                assert sum(token.log_p for token in found.tokens) == pytest.approx(found.n_best[0].log_p, abs=1e-4)

    def test_its_own_log_probability_is_what_scoring_says(self, search: dict[str, object]) -> None:
        made = translator(search)
        lines = [line for line in LINES if line.strip()]
        outputs = made.translate(lines)
        known = [n for n, output in enumerate(outputs) if "⁇" not in output.text]
        scored = made.score([lines[n] for n in known], [outputs[n].text for n in known])
        for number, found in zip(known, scored, strict=True):
            assert found.log_p == pytest.approx(outputs[number].n_best[0].log_p, abs=1e-4)
            assert [token.piece for token in found.tokens] == [token.piece for token in outputs[number].tokens]

    def test_no_output_is_longer_than_allowed(self, search: dict[str, object]) -> None:
        for line, found in zip(LINES, translator(search).translate(LINES), strict=True):
            assert len(found.tokens) <= (len(line.split()) + 3 + 1 if line.strip() else 0)


words = st.lists(st.sampled_from("abcdef"), max_size=6).map(" ".join)


@given(lines=st.lists(words, max_size=4))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("search", [SEARCHES["greedy"], SEARCHES["beam"]], ids=["greedy", "beam"])
def test_batches_of_any_lines(search: dict[str, object], lines: list[str]) -> None:
    made = translator(search)
    for line, found in zip(lines, made.translate(lines), strict=True):
        assert same(found, made.translate([line])[0])


class TestCandidates:
    def test_are_different_and_best_first(self) -> None:
        for line, found in zip(LINES, translator().translate(LINES, n_best=3), strict=True):
            if not line.strip():
                continue
            assert len(found.n_best) == len({tuple(c.tokens) for c in found.n_best}) == 3
            assert [c.score for c in found.n_best] == sorted((c.score for c in found.n_best), reverse=True)
            assert found.n_best[0][:2] == (found.text, found.score)

    def test_score_is_log_p_over_the_penalty(self) -> None:
        for candidate in translator({"length_penalty": 1.3}).translate(["a b c"], n_best=3)[0].n_best:
            assert candidate.score == pytest.approx(candidate.log_p / ((5 + len(candidate.tokens)) / 6) ** 1.3)

    def test_more_than_beams(self) -> None:
        with pytest.raises(ValueError, match=r"`n_best` must be at most `beam` \(3\), but is 4"):
            translator().translate(["a"], n_best=4)

    def test_samples_differ_and_the_seed_decides(self) -> None:
        def texts(seed: int) -> list[str]:
            made = translator({"temperature": 1.0, "seed": seed})
            return [candidate.text for candidate in made.translate(["a b c"], n_best=12)[0].n_best]

        assert texts(1) == texts(1)
        assert texts(1) != texts(2)
        assert len(set(texts(1))) > 1


class TestPrefixes:
    @EVERY_SEARCH
    def test_outputs_begin_with_them(self, search: dict[str, object]) -> None:
        prefixes = ["d", "a", "", "e f", "b", "", "f f", "c", "a b c d e f a b"]
        translations = translator({**search, "max_extra": 8}).translate(LINES, prefixes=prefixes)
        for line, prefix, found in zip(LINES, prefixes, translations, strict=True):
            assert not line.strip() or [t.piece for t in found.tokens][: len(prefix.split())] == prefix.split()

    def test_an_empty_prefix_is_none(self) -> None:
        made = translator()
        assert made.translate(LINES, prefixes=[""] * len(LINES)) == made.translate(LINES)

    def test_one_a_line(self) -> None:
        with pytest.raises(ValueError, match=r"`prefixes` must have one entry a line \(2\), but has 1"):
            translator().translate(["a", "b"], prefixes=["a"])


class TestLongLines:
    LINE = "a b c . d e . f"

    def test_are_translated_sentence_by_sentence(self) -> None:
        made = translator({"max_source": 4})
        parts = made.translate(["a b c .", "d e . f"])
        [whole] = made.translate([self.LINE])
        assert whole.text == " ".join(part.text for part in parts)
        assert whole.n_best[0].log_p == pytest.approx(sum(part.n_best[0].log_p for part in parts), abs=1e-5)
        assert whole.warnings == ["longer than 4 tokens: translated in 2 parts"]

    def test_without_sentence_ends_are_cut(self) -> None:
        [found] = translator({"max_source": 5, "beam": 1}).translate(["a b c d e f " * 5])
        assert found.warnings == ["longer than 5 tokens: translated in 6 parts"]
        assert found.text

    def test_that_fit_are_left_whole(self) -> None:
        assert translator({"max_source": 8}).translate([self.LINE])[0].warnings == []

    def test_a_prefix_is_for_the_first_part(self) -> None:
        made = translator({"max_source": 4})
        forced = made.translate([self.LINE], prefixes=["e e"])[0].text
        assert forced == " ".join(
            [made.translate(["a b c ."], prefixes=["e e"])[0].text, made.translate(["d e . f"])[0].text]
        )


@pytest.mark.parametrize(("line", "unknown"), [("a b", 0), ("a x", 1), ("x y a", 2), ("", 0)])
def test_unknown_symbols(line: str, unknown: int) -> None:
    assert translator().translate([line])[0].unknown == unknown


class TestScore:
    def test_of_anything(self) -> None:
        made = translator()
        one_by_one = [made.score([source], [target])[0] for source, target in zip(LINES, reversed(LINES), strict=True)]
        for left, right in zip(made.score(LINES, LINES[::-1]), one_by_one, strict=True):
            assert left.log_p == pytest.approx(right.log_p, abs=1e-5)
            assert [token.piece for token in left.tokens] == [token.piece for token in right.tokens]
            assert left.log_p < 0

    def test_outputs_of_one_word_are_a_distribution(self) -> None:
        """p(nothing) + the sum of p(word, anything) is 1, up to PAD and BOS, which no text can ask for."""
        made = translator()
        first = {word: made.score(["a b"], [word])[0].tokens[0].log_p for word in ["", *"abcdef."]}
        assert 0.5 < sum(math.exp(log_p) for log_p in first.values()) < 1

    def test_one_target_a_source(self) -> None:
        with pytest.raises(ValueError, match=r"`targets` must have one entry a source \(2\), but has 1"):
            translator().score(["a", "b"], ["a"])

    def test_of_nothing(self) -> None:
        assert translator().score([], []) == []


class TestTrace:
    def test_of_a_given_target(self) -> None:
        made = translator()
        trace = check_trace(made.trace("a b c", "d e"))
        assert trace.source == ["a", "b", "c", "</s>"]
        assert trace.consumed == ["<s>", "d", "e"]
        assert trace.predicted == ["d", "e", "</s>"]
        assert [m.name for m in trace.maps] == ["encoder.0.self", "decoder.0.self", "decoder.0.cross"]
        assert trace.log_p == pytest.approx([t.log_p for t in made.score(["a b c"], ["d e"])[0].tokens], abs=1e-5)

    def test_of_what_search_finds(self) -> None:
        made = translator()
        [found] = made.translate(["a b c"])
        trace = made.trace("a b c")
        assert trace.predicted == [token.piece for token in found.tokens]
        assert sum(trace.log_p) == pytest.approx(found.n_best[0].log_p, abs=1e-4)

    def test_of_a_blank_line(self) -> None:
        trace = check_trace(translator().trace(" "))
        assert (trace.source, trace.predicted) == (["</s>"], ["</s>"])


def test_leaves_the_model_in_eval_mode_and_untouched() -> None:
    made = translator()
    before = [parameter.clone() for parameter in made.backend.model.parameters()]
    made.backend.model.train()
    made.translate(["a b"])
    assert not made.backend.model.training
    assert all((old == new).all() for old, new in zip(before, made.backend.model.parameters(), strict=True))


@pytest.mark.parametrize("beam", [1, 4])
def test_damaged_weights_are_an_error_and_no_silent_output(beam: int) -> None:
    broken = translator({"beam": beam})
    with torch.no_grad():
        next(broken.backend.model.parameters()).fill_(math.nan)
    with pytest.raises(HeedfulError, match=r"no output for line 1.*\n.*NaN"):
        broken.translate(["a b c"])


def test_a_single_string_is_no_list_of_lines() -> None:
    with pytest.raises(TypeError, match="`lines` must be a list of strings, one a line"):
        translator().translate("a b c")
    with pytest.raises(TypeError, match="`sources` must be a list of strings"):
        translator().score("a", "a")


def test_a_prefix_longer_than_any_output_is_refused() -> None:
    with pytest.raises(HeedfulError, match=r"Line 2: the prefix has 9 tokens, but an output at most 5\."):
        translator({"max_extra": 3}).translate(["a", "a b"], prefixes=["a", " ".join("a" * 9)])
