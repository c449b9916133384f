"""`heedful attention`: its members exist, and its numbers are the known ones."""

import json
import math
import pkgutil
from collections.abc import Callable

import pytest

from heedful.gallery import measured
from heedful.gallery.aliases import ALIASES
from heedful.gallery.family import FAMILY


class TestMembers:
    @pytest.mark.parametrize("member", FAMILY, ids=[member.name for member in FAMILY])
    def test_symbols_are_there(self, member) -> None:
        for symbol in member.symbols:
            assert callable(pkgutil.resolve_name(f"heedful.{symbol}"))

    def test_names_differ(self) -> None:
        assert len({member.name for member in FAMILY}) == len(FAMILY)

    def test_list(self, heedful: Callable) -> None:
        lines = heedful("attention", "list").out.splitlines()
        assert lines[0].split() == ["name", "score", "mask", "normalise", "aggregate"]
        assert [line.split()[0] for line in lines[1:]] == [member.name for member in FAMILY]
        assert len(json.loads(heedful("attention", "list", "--json").out)) == len(FAMILY)

    def test_show(self, heedful: Callable) -> None:
        shown = heedful("attention", "show", "local-p").out
        assert "heedful.attention.LocalP, heedful.attention.PositionPredictor" in shown
        assert "Luong 2015, 3.2" in shown
        assert "docs/" not in shown, "an installed heedful has no pages"
        assert "it is as good as the position that it predicts." in shown
        assert json.loads(heedful("attention", "show", "top-k", "--json").out)["symbols"] == ["attention.TopK"]

    def test_show_what_was_measured(self, heedful: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
        arms = [measured.Arm("3 hops", "81.00 ± 1.41 (3 seeds)", "80.90", 12_345, 0.5, {"hit@1": 97.0})]
        told = "Is 3 hops better than 1 hop? yes (+41.00, p 0.0079, adjusted 0.020)"
        words = ("memory", "Memory", "bAbI 2", "CC BY", "babi", "accuracy", "test", "2 stand in train, too.")
        result = measured.MeasuredSystem(*words, arms, [told])
        monkeypatch.setattr(measured, "results", lambda page: [result] if page == "memory" else [])
        shown = heedful("attention", "show", "memory").out
        assert "Memory: bAbI 2\n" in shown
        assert "accuracy on test" in shown
        assert told in shown
        assert "2 stand in train, too." in shown
        assert "81.00 ± 1.41 (3 seeds)" in shown
        assert "heedful init --recipe babi" in shown
        (found,) = json.loads(heedful("attention", "show", "memory", "--json").out)["results"]
        assert found["arms"][0]["evidence"] == {"hit@1": 97.0}

    @pytest.mark.parametrize(
        ("name", "member"),
        [
            ("self-attention", "multi-head"),
            ("cross-attention", "multi-head"),
            ("transformer", "multi-head"),
            ("softmax", "scaled-dot"),
            ("Multi_Head attention", "multi-head"),
            ("sparsemax attention", "sparsemax"),
            ("dot-product attention", "dot"),
        ],
    )
    def test_other_names(self, name: str, member: str, heedful: Callable) -> None:
        outcome = heedful("attention", "show", name)
        assert (outcome.code, outcome.out) == (0, heedful("attention", "show", member).out)

    @pytest.mark.parametrize("alias", ALIASES)
    def test_other_names_lead_somewhere_and_say_why(self, alias: str, heedful: Callable) -> None:
        names = [member.name for member in FAMILY]
        assert alias not in names
        outcome = heedful("attention", "show", alias)
        assert outcome.err == f"{alias} is {ALIASES[alias].member}: {ALIASES[alias].meaning}.\n"
        assert ALIASES[alias].member in names

    def test_a_name_that_is_not_there(self, heedful: Callable) -> None:
        outcome = heedful("attention", "show", "sparse-max")
        assert outcome.code == 2
        assert "There is no attention called 'sparse-max'." in outcome.err
        assert "Near to it: sparsemax" in outcome.err
        assert "`heedful attention list` shows all." in heedful("attention", "show", "xyzzy").err


class TestLookup:
    def test_numbers(self, heedful: Callable) -> None:
        answers = json.loads(heedful("attention", "lookup", "--json").out)
        ages = {(answer["question"], answer["way"]): answer["age"] for answer in answers}
        expected = {
            "softmax": (57 * math.e + 22) / (3 * math.e + 1),
            "softmax, scaled by 1 / sqrt(3)": 19.472892,
            "softmax, 2 times as sharp": 19.1295,
            "softmax, 4 times as sharp": 19.0182,
            "softmax, 8 times as sharp": 19.000335,
            "softmax, 16 times as sharp": 19.0000001,
            "sparsemax": 19.0,
            "hard: the first of the best": 18.0,
        }
        for way, age in expected.items():
            assert ages["the Zhangs", way] == pytest.approx(age, abs=5e-5)
        weights = {answer["way"]: answer["weights"] for answer in answers if answer["question"] == "Zhang San"}
        assert weights["softmax"][3] == pytest.approx(0.9645, abs=1e-4)  # the longer key wins
        assert weights["hard: the first of the best"] == [0, 0, 0, 1]
        assert max(weights["cosine, temperature 0.05"]) == weights["cosine, temperature 0.05"][0]

    def test_text(self, heedful: Callable) -> None:
        out = heedful("attention", "lookup").out
        assert "How old are the Zhangs? Query [1, 0, 0]" in out
        assert "19.327695" in out
        assert "19.472892" in out


class TestComplexity:
    @pytest.mark.parametrize(("n", "paths"), [(10, [1, 9, 9, 2]), (50, [1, 49, 49, 10]), (100, [1, 99, 99, 20])])
    def test_paths(self, heedful: Callable, n: int, paths: list[int]) -> None:
        rows = json.loads(heedful("attention", "complexity", "--length", str(n), "--width", "8", "--json").out)
        assert [row["longest_path"] for row in rows] == paths
        assert [row["sequential"] for row in rows] == [1, n, 1, 1]

    def test_counts(self, heedful: Callable) -> None:
        """n = d = 512 is where attention and recurrence cost the same; a layer of each has two such products."""
        rows = json.loads(heedful("attention", "complexity", "--length", "512", "--json").out)
        attention, recurrent, convolution, restricted = rows
        assert attention["formula"] == recurrent["formula"] == 134_217_728
        assert attention["counted"] == 2 * attention["formula"]
        assert recurrent["counted"] == 2 * recurrent["formula"]
        assert convolution["counted"] == convolution["formula"]
        blocks = -(-512 // 5)
        assert restricted["counted"] == 2 * blocks * 5 * 15 * 512

    def test_text(self, heedful: Callable) -> None:
        lines = heedful("attention", "complexity").out.splitlines()
        assert lines[0].split()[:2] == ["layer", "order"]
        assert [line.split()[-1] for line in lines[1:]] == ["1", "99", "99", "20"]

    def test_wrong_sizes(self, heedful: Callable) -> None:
        outcome = heedful("attention", "complexity", "--length", "1", "--kernel", "4")
        assert outcome.code == 2
        assert "The table needs n >= 2, d >= 1, radius >= 1 and an odd kernel >= 3, " in outcome.err
        assert "not n = 1, d = 512, radius = 5, kernel = 4." in outcome.err
