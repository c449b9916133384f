"""Made tasks of pooling: the words that decide stand at known positions. Knows nothing of files."""

import random
from typing import final

from heedful.data.corpus import Pair
from heedful.datasets.synthetic import PART, SyntheticTask, made_up_words


@final
class KeywordTask(SyntheticTask):
    """15 to 30 filler words and one or three of 60 keywords; each keyword has a class, and the majority is the answer.

    Were there always three, one class could be told without seeing any of its words: by what of the three is missing.
    """

    name = "keywords"
    description = "15 to 30 fillers and one or three keywords to the class of most of the keywords, in known positions"
    sides = ("words", "label")
    classes = ("red", "orange", "yellow", "green", "blue", "violet")

    def __init__(self) -> None:
        words = iter(made_up_words(random.Random("keywords"), "ptkmnls", "aiu", 260))
        self._fillers = [next(words) for _ in range(200)]
        self._keywords = {label: [next(words) for _ in range(10)] for label in self.classes}

    def pair(self, index: int, seed: int) -> Pair:
        """Return the words, and the class of most of their keywords."""
        words, label, _ = self._text(index, seed)
        return Pair(" ".join(words), label)

    def positions(self, index: int, seed: int) -> list[int]:
        """Return the positions of the keywords, from the first on."""
        return self._text(index, seed)[2]

    def _text(self, index: int, seed: int) -> tuple[list[str], str, list[int]]:
        """Make the words, the label, and the positions of the keywords."""
        rng = self._rng(index, seed)
        label = rng.choice(self.classes)
        labels = [label, label, rng.choice(self.classes)] if rng.random() < 0.5 else [label]
        rng.shuffle(labels)
        words = rng.choices(self._fillers, k=rng.randint(15, 30))
        positions = sorted(rng.sample(range(len(words) + len(labels)), len(labels)))
        for position, of in zip(positions, labels, strict=True):
            words.insert(position, rng.choice(self._keywords[of]))
        return words, label, positions


@final
class Cued(SyntheticTask):
    """A letter, then nine cells of a letter and a digit in one of three languages: the digit in the letter's cell."""

    name = "cued"
    description = "a letter, then nine cells of a letter and a digit, to the digit in its cell: one known position"
    sides = ("symbols", "label")
    letters = "abcdefghi"
    digits = (  # English, German, Spanish
        ("zero", "null", "cero"),
        ("one", "eins", "uno"),
        ("two", "zwei", "dos"),
        ("three", "drei", "tres"),
        ("four", "vier", "cuatro"),
        ("five", "fünf", "cinco"),
        ("six", "sechs", "seis"),
        ("seven", "sieben", "siete"),
        ("eight", "acht", "ocho"),
        ("nine", "neun", "nueve"),
    )

    def pair(self, index: int, seed: int) -> Pair:
        cue, cells = self._cells(index, seed)
        row = [word for letter, digit, language in cells for word in (letter, self.digits[digit][language])]
        (answer,) = (digit for letter, digit, _ in cells if letter == cue)
        return Pair(" ".join([cue, PART, *row]), str(answer))

    def position(self, index: int, seed: int) -> int:
        """Return the position of the word that the answer is read from."""
        cue, cells = self._cells(index, seed)
        return 3 + 2 * [letter for letter, _, _ in cells].index(cue)

    def _cells(self, index: int, seed: int) -> tuple[str, list[tuple[str, int, int]]]:
        """Make the letter that is the question, and letter, digit and language of each cell."""
        rng = self._rng(index, seed)
        letters = rng.sample(self.letters, len(self.letters))
        return rng.choice(letters), [(letter, rng.randrange(10), rng.randrange(3)) for letter in letters]
