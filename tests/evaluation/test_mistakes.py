"""What can be seen of a mistake's reason, each by an example and its near misses."""

import pytest

from heedful.evaluation.mistakes import REASONS, find_mistakes, longest_loop, observe
from heedful.records.outputs import Output


def item(output: str, *references: str, source: str = "source") -> Output:
    return Output("test-0", source, list(references), output, -1.0)


@pytest.mark.parametrize(
    ("output", "reference", "source", "reasons"),
    [
        ("", "K AE T", "cat", ["empty"]),
        ("   ", "K AE T", "cat", ["empty"]),
        ("K ⁇ T", "K AE T", "cat", ["unknown symbol", "one symbol"]),
        ("the cat runs", "die Katze rennt schnell", "the cat  runs", ["copy"]),
        ("a b b b b c", "a b c d e f", "x", ["loop"]),
        ("x y x y x y", "x y z w v u", "s", ["loop"]),
        ("O O O O B-x O", "O O B-x I-x O O", "s", ["other"]),  # labels
        ("ha ha ha ho", "ha ha ha ha", "s", ["one symbol"]),
        ("привет мир", "hello world", "s", ["wrong script"]),
        ("ネコ", "猫", "cat", ["other"]),
        ("K AE", "K AE T S IH", "cats", ["too short"]),
        ("K AE T", "K AE T S IH", "cats", ["other"]),
        ("A B C D E", "A B", "s", ["too long"]),
        ("A B", "A", "s", ["one symbol"]),
        ("K AE T S", "K AE T", "cat", ["one symbol"]),
        ("K AH D", "K AE T", "cat", ["other"]),
        ("gesehn", "gesehen", "gesehn", ["copy", "one symbol"]),
        ("abc", "xyz", "s", ["other"]),
    ],
)
def test_reasons(output: str, reference: str, source: str, reasons: list[str]) -> None:
    assert observe(item(output, reference, source=source)) == reasons


def test_the_closest_reference_counts() -> None:
    assert observe(item("A B C", "X Y Z W V U T", "A B D")) == ["one symbol"]


def test_every_reason_is_explained() -> None:
    assert list(REASONS)[-1] == "other"
    assert all(REASONS.values())


@pytest.mark.parametrize(
    ("units", "repeats"),
    [
        ("", 0),
        ("a", 1),
        ("ab", 1),
        ("aa", 2),
        ("abab", 2),
        ("xababab", 3),
        ("abcabcabcabc", 4),
        ("abba", 2),
        ("aabaabaab", 3),
    ],
)
def test_longest_loop(units: str, repeats: int) -> None:
    assert longest_loop(units) == repeats


class TestFindMistakes:
    def test_only_wrong_items_with_their_own_measures(self) -> None:
        items = [item("A", "A"), item("A  B", "X", "A B"), item("C", "D")._replace(id="test-2")]
        (mistake,) = find_mistakes(items, {"per": [0.0, 0.0, 100 / 3]})
        assert mistake.record() == {
            "id": "test-2",
            "source": "source",
            "references": ["D"],
            "output": "C",
            "score": -1.0,
            "measures": {"per": 33.3333},
            "reason": "one symbol",
            "reasons": ["one symbol"],
        }
