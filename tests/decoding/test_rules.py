"""What is asked of an output is kept, or refused with the line and the reason."""

import pytest
from tests.decoding.letters import translator

from heedful.decoding.rules import OutputRules
from heedful.errors import ConfigError, HeedfulError

LINES = ["a b c", "", "f", "a b c d e f a b c", "c c", "d"]


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_phrases_are_held_and_others_are_not(beam: int) -> None:
    rules = [
        OutputRules(["d e", "a"], ["b"]),
        OutputRules(["a"]),  # of a blank line nothing can be asked: it stays blank
        OutputRules([], ["a", "c d"]),
        OutputRules(["f f f"]),
        OutputRules(),
        OutputRules(["c d", "d e", "e c"], ["f", "c c"]),
    ]
    made = translator({"beam": beam, "max_extra": 9})
    found = made.translate(LINES, rules=rules)
    for line, asked, one in zip(LINES, rules, found, strict=True):
        if line:
            assert all(phrase in one.text for phrase in asked.require)
        assert not any(phrase in one.text for phrase in asked.forbid)
        [alone] = made.translate([line], rules=[asked])
        assert (alone.text, alone.score) == (one.text, pytest.approx(one.score, abs=1e-5))
    assert found[1].text == ""
    assert found[4].text == made.translate(["c c"])[0].text


def test_every_candidate_keeps_them() -> None:
    [found] = translator({"beam": 6, "max_extra": 9}).translate(
        ["a b"], n_best=6, rules=[OutputRules(["c", "e f"], ["d"])]
    )
    assert len(found.n_best) == 6
    for candidate in found.n_best:
        assert "c" in candidate.text
        assert "e f" in candidate.text
        assert "d" not in candidate.text


@pytest.mark.parametrize("search", [{"temperature": 1.5}, {"samples": 9, "utility": "edit"}, {"beam": 1}])
def test_forbidding_works_with_every_search(search: dict[str, object]) -> None:
    for found in translator({**search, "max_extra": 9}).translate(
        LINES, rules=[OutputRules([], ["a", "b c", "⁇"])] * len(LINES)
    ):
        assert not any(phrase in found.text for phrase in ("a", "b c"))


@pytest.mark.parametrize("order", [1, 2])
def test_no_ngram_stands_twice(order: int) -> None:
    for found in translator({"no_repeat_ngram": order, "max_extra": 9}).translate(LINES):
        pieces = [token.piece for token in found.tokens]
        grams = [tuple(pieces[at : at + order]) for at in range(len(pieces) - order + 1)]
        assert len(grams) == len(set(grams))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (OutputRules(["a", " "]), r"Line 2: a phrase is blank\."),
        (OutputRules([], [""]), r"Line 2: a phrase is blank\."),
        (OutputRules(["a ☃"]), r"Line 2: this model cannot write 'a ☃': it lacks a symbol of it\."),
        (OutputRules(["a b c", "d e f"]), r"Line 2: its phrases need 6 tokens, but an output has at most 5\."),
        (OutputRules(["a b"], ["d", "b"]), r"Line 2: 'a b' is asked for, but holds a forbidden phrase\."),
        (
            OutputRules(["abcdef."[i % 7] + " a" * (i // 7) for i in range(11)]),
            r"Line 2 requires 11 phrases, but may require 10",
        ),
    ],
)
def test_refused_with_the_line(rules: OutputRules, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        translator().translate(["a", "a b"], rules=[OutputRules(), rules])


def test_phrases_that_overlap_need_less_room() -> None:
    [found] = translator({"max_extra": 3}).translate(["a b"], rules=[OutputRules(["a b c", "b c d e"])])
    assert found.text == "a b c d e"


def test_a_prefix_must_not_hold_what_is_forbidden() -> None:
    with pytest.raises(HeedfulError, match=r"Line 1: 'a b' is asked for, but holds a forbidden phrase"):
        translator().translate(["a"], prefixes=["a b"], rules=[OutputRules([], ["b"])])


def test_a_prefix_counts() -> None:
    """It takes its room, and holds what it holds."""
    made = translator({"max_extra": 3})
    [found] = made.translate(["a b"], prefixes=["a b c"], rules=[OutputRules(["b c d e"])])
    assert found.text == "a b c d e"
    with pytest.raises(HeedfulError, match=r"Line 1: its phrases need 6 tokens, but an output has at most 5\."):
        made.translate(["a b"], prefixes=["a b c"], rules=[OutputRules(["d e f"])])


@pytest.mark.parametrize("search", [{"temperature": 1.0}, {"samples": 4}])
def test_samples_cannot_be_made_to_hold_phrases(search: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="Required phrases need beam search"):
        translator(search).translate(["a"], rules=[OutputRules(["b"])])


def test_required_phrases_may_repeat() -> None:
    with pytest.raises(ConfigError, match="Required phrases and no_repeat_ngram exclude each other"):
        translator({"no_repeat_ngram": 2}).translate(["a"], rules=[OutputRules(["b"])])


def test_lines_in_parts_have_no_phrases() -> None:
    with pytest.raises(HeedfulError, match=r"Line 1 is translated in 2 parts, so it can have no phrases\."):
        translator({"max_source": 2}).translate(["a b c"], rules=[OutputRules([], ["b"])])


def test_where_the_way_is_blocked() -> None:
    """Every letter but those of the phrase is forbidden, and so is any way into it but the first."""
    forbidden = ["b", "c", "d", "e .", "f .", "⁇"]
    made = translator({"beam": 2, "max_extra": 2})
    with pytest.raises(HeedfulError, match=r"No output was found for line 1 that holds all required phrases"):
        made.translate(["a"], prefixes=["f"], rules=[OutputRules([". e"], forbidden)])


def test_one_a_line() -> None:
    with pytest.raises(ValueError, match=r"`rules` must have one entry a line \(2\), but has 1"):
        translator().translate(["a", "b"], rules=[OutputRules()])
