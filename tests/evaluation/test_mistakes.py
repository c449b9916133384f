"""What can be seen of a mistake's reason, each by an example and its near misses."""

import pytest

from heedful.evaluation.edits import longest_loop
from heedful.evaluation.mistakes import REASONS, find_mistakes, observe
from heedful.records.outputs import Output


def item(output: str, *references: str, source: str = "source") -> Output:
    return Output("test-0", source, list(references), output, -1.0)


@pytest.mark.parametrize(
    ("output", "reference", "source", "reason"),
    [
        ("", "K AE T", "cat", "empty"),
        ("   ", "K AE T", "cat", "empty"),
        ("K ⁇ T", "K AE T", "cat", "unknown symbol"),
        ("the cat runs", "die Katze rennt schnell", "the cat  runs", "copy"),
        ("gesehn", "gesehen", "gesehn", "copy"),
        ("a b b b b c", "a b c d e f", "x", "repetition"),
        ("x y x y x y", "x y z w v u", "s", "repetition"),
        ("ha ha ha ho", "ha ha ha ha", "s", "substitution"),  # the reference repeats, too
        ("привет мир", "hello world", "s", "wrong script"),
        ("ネコ", "猫", "cat", "mostly wrong"),  # one writing
        ("K AE", "K AE T S IH", "cats", "under-translation"),
        ("K AE T", "K AE T S IH", "cats", "ending"),
        ("A B C D E", "A B", "s", "over-translation"),
        ("A B", "A", "s", "insertion"),
        # right but for one thing
        ("New York", "NewYork", "s", "segmentation"),
        ("Es geht gut .", "Es geht gut.", "s", "segmentation"),
        ("the Dog ran", "The dog ran", "s", "casing"),
        ("yes he said", "yes, he said.", "s", "punctuation"),
        ("ndioro", "n'dioro", "s", "punctuation"),
        ("Munchen", "München", "s", "diacritics"),
        ("كتب", "كَتَبَ", "s", "diacritics"),
        ("कि", "कु", "s", "substitution"),  # a vowel sign is a letter of its own
        ("in 1984 it cost 3.50", "in 1948 it cost 3.50", "s", "number"),
        ("3月1日", "3月2日", "s", "number"),
        ("K AE0 T", "K AE1 T", "cat", "vowel substitution"),  # stress is no number
        # sounds
        ("K AH T", "K AE T", "cat", "vowel substitution"),
        ("K AE D", "K AE T", "cat", "consonant substitution"),
        ("ʃ iː p", "ʃ ɪ p", "ship", "vowel substitution"),
        ("t͡ʃ aʊ", "d͡ʒ aʊ", "s", "consonant substitution"),
        ("mehn", "mahn", "s", "vowel substitution"),
        ("моj", "мой", "s", "consonant substitution"),
        ("abrkrombe", "abercrombie", "s", "other"),
        ("gloster", "glostour", "s", "vowels only"),
        ("P AE T R AH T", "P EY T R IY AH T", "s", "vowels only"),
        ("K AE S", "G AE T", "s", "consonants only"),
        ("K AE T S", "K AE T", "cat", "insertion"),
        ("AE T", "K AE T", "cat", "deletion"),
        ("ADJ NN", "ADV NN", "s", "substitution"),  # labels have no vowels
        ("O B-x O", "O I-x O", "s", "substitution"),
        ("B O M O", "B B M O", "s", "substitution"),
        ("he is at home", "he is in home", "s", "substitution"),
        # words
        ("the cat runs", "the cats ran", "s", "mostly wrong"),
        ("eine kleiner Hund läuft", "eine kleines Hunde läuft", "s", "inflection"),
        ("ein kleines Haus", "ein kleiner Haus", "s", "inflection"),
        ("a man and a dog", "a dog and a man", "s", "wrong order"),
        ("ab ba", "ba ab", "s", "wrong order"),
        # many edits
        ("abc", "xyz", "s", "mostly wrong"),
        ("Z Q c d e f g", "A B c d e f g", "s", "beginning"),
        ("c d e f g h Q W", "c d e f g h A B", "s", "ending"),
        ("a Q c d W f", "a b c d e f", "s", "several substitutions"),
        ("w1 w3 w5 w6 w7", "w1 w2 w3 w4 w5 w6 w7", "s", "several deletions"),
        ("w1 w2 w9 w3 w8 w4", "w1 w2 w3 w4", "s", "several insertions"),
        ("a b Q W d e f", "a b c d e f", "s", "one span"),
        ("a Q c d e f h", "a b c d e f g h", "s", "two spans"),
        ("a Q c d e Q Q g h i j", "a b c d e f g h i j", "s", "two spans"),
        ("a Q c e f W g h J j k", "a b c d e f g h i j k", "s", "other"),
        ("O O O O B-x O", "O O B-x I-x O O", "s", "several substitutions"),  # labels repeat; this is no loop
    ],
)
def test_reasons(output: str, reference: str, source: str, reason: str) -> None:
    assert observe(item(output, reference, source=source))[0] == reason


def test_all_reasons_are_given_the_most_telling_first() -> None:
    assert observe(item("", "K AE T")) == ["empty", "mostly wrong", "several deletions"]
    assert observe(item("gesehn", "gesehen", source="gesehn")) == ["copy", "deletion"]
    found = observe(item("the Dog said yes", "The dog said: yes"))
    assert found == ["casing", "punctuation", "mostly wrong", "several substitutions"]


def test_the_closest_reference_counts() -> None:
    assert observe(item("A B C", "X Y Z W V U T", "A B D")) == ["substitution"]


def test_every_reason_is_explained_and_other_comes_last() -> None:
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
    assert longest_loop(units, 8) == repeats


class TestFindMistakes:
    def test_only_wrong_items_with_their_own_measures(self) -> None:
        items = [item("A", "A"), item("A  B", "X", "A B"), item("C", "Q")._replace(id="test-2")]
        (mistake,) = find_mistakes(items, {"per": [0.0, 0.0, 100 / 3]})
        assert mistake.record() == {
            "id": "test-2",
            "source": "source",
            "references": ["Q"],
            "output": "C",
            "score": -1.0,
            "measures": {"per": 33.3333},
            "reason": "consonant substitution",
            "reasons": ["consonant substitution", "substitution"],
        }
