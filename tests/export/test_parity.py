"""Comparing two engines: what is counted, what fails, and what the report says."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from heedful.decoding.translation import Candidate, Token, Translation
from heedful.errors import CheckFailed, HeedfulError
from heedful.export.parity import (
    FLOAT32,
    Divergence,
    Parity,
    Tolerance,
    compare_engines,
    first_difference,
    write_parity,
)


class Said:
    """An engine that says for each line what it was told to: words with one log-probability each."""

    def __init__(self, outputs: dict[str, tuple[str, float]]) -> None:
        self._outputs = outputs

    def translate(self, lines: Sequence[str], *, n_best: int = 1) -> list[Translation]:
        assert n_best == 1
        return [self._one(*self._outputs[line]) if line else blank() for line in lines]

    def _one(self, text: str, log_p: float) -> Translation:
        tokens = [Token(piece, log_p) for piece in [*text.split(), "</s>"]]
        total = log_p * len(tokens)
        return Translation(text, total, tokens, [Candidate(text, total, total, tokens)], [])


def blank() -> Translation:
    return Translation("", 0.0, [], [Candidate("", 0.0, 0.0, [])], [])


NATIVE = Said({"a": ("x y", -1.0), "b": ("x", -0.5), "c": ("z z z", -2.0)})
LINES = ["a", "", "b", "c"]


class TestComparison:
    def test_with_itself(self) -> None:
        parity = compare_engines(NATIVE, NATIVE, LINES)
        assert parity == Parity(4, 4, 3 + 2 + 4, 0.0, None, FLOAT32)
        parity.check()

    def test_by_hand(self) -> None:
        """One line of four parts at its second token; a token of another differs by 0.25."""
        other = Said({"a": ("x q", -1.0), "b": ("x", -0.75), "c": ("z z z", -2.125)})
        parity = compare_engines(NATIVE, other, LINES)
        first = Divergence(1, "a", "x y", "x q", 1, -3.0, -3.0)
        assert parity == Parity(4, 3, 2 + 4, 0.25, first, FLOAT32)
        assert parity.equal_share == 0.75

    def test_the_same_text_from_other_tokens_is_equal_but_not_compared(self) -> None:
        class Joined(Said):
            def _one(self, text: str, log_p: float) -> Translation:
                found = super()._one(text, log_p)
                return found._replace(tokens=[Token(text, -9.0), Token("</s>", -9.0)])

        parity = compare_engines(NATIVE, Joined(NATIVE._outputs), ["a", "b"])
        assert (parity.equal, parity.tokens, parity.first_divergence) == (2, 2, None)

    def test_blank_lines_prove_nothing(self) -> None:
        with pytest.raises(HeedfulError, match=r"There is no text to compare.*\nhint: .*--dev"):
            compare_engines(NATIVE, NATIVE, ["", "  "])


@pytest.mark.parametrize(
    ("left", "right", "place"),
    [("a b", "a b", None), ("", "", None), ("a b", "a c", 1), ("a", "a b", 1), ("b a", "a b", 0), ("", "a", 0)],
)
def test_first_difference(left: str, right: str, place: int | None) -> None:
    tokens = [[Token(piece, 0.0) for piece in text.split()] for text in (left, right)]
    assert first_difference(*tokens) == place


class TestCheck:
    def test_too_few_equal_texts(self) -> None:
        other = Said({**NATIVE._outputs, "a": ("x q", -1.0)})
        parity = compare_engines(NATIVE, other, LINES)
        with pytest.raises(CheckFailed, match=r"only 3 of 4 texts \(75\.0%\) are equal, but at least 99\.5%") as caught:
            parity.check()
        assert caught.value.exit_code == 3
        assert caught.value.hint == 'Line 1 ("a") differs first, from token 2 on: "x y" has become "x q".'
        compare_engines(NATIVE, other, LINES, Tolerance(equal_texts=0.75)).check()

    @pytest.mark.parametrize("log_p", [-0.502, -0.498, math.nan])
    def test_too_large_a_difference(self, log_p: float) -> None:
        parity = compare_engines(NATIVE, Said({**NATIVE._outputs, "b": ("x", log_p)}), LINES)
        with pytest.raises(CheckFailed, match=r"log-probability differs by .*, but at most 0\.001 is allowed"):
            parity.check()
        compare_engines(NATIVE, Said({**NATIVE._outputs, "b": ("x", -0.5009)}), LINES).check()

    def test_without_any_token_nothing_is_proven(self) -> None:
        class Silent(Said):
            def _one(self, text: str, log_p: float) -> Translation:
                return super()._one(text, log_p)._replace(tokens=[])

        parity = compare_engines(NATIVE, Silent(NATIVE._outputs), LINES)
        with pytest.raises(CheckFailed, match="no line has the same tokens"):
            parity.check()


def test_report(tmp_path: Path) -> None:
    other = Said({**NATIVE._outputs, "a": ("x q", -1.0), "b": ("x", math.nan)})
    write_parity(tmp_path, compare_engines(NATIVE, other, LINES))
    report = json.loads((tmp_path / "parity.json").read_text())
    assert (report["lines"], report["equal"], report["equal_share"], report["tokens"]) == (4, 3, 0.75, 6)
    assert report["tolerance"] == {"equal_texts": 0.995, "log_p": 0.001}
    assert report["first_divergence"]["source"] == "a"
    assert report["first_divergence"]["token"] == 1
    assert report["largest_log_p_difference"] == "nan"
    assert len(report["failures"]) == 2
