"""Synthetic tasks of the core: copy, reverse, sort, and a made-up language pair whose true alignment is known.

Knows nothing of files. A pair is a function of the task, its index and a seed; blanks stand between its symbols.
"""

import random
from abc import abstractmethod
from itertools import islice
from string import ascii_lowercase
from typing import NamedTuple, final

from heedful.data.corpus import Pair
from heedful.datasets.sequence_tasks import Articles, Squeezed, TaggedTask
from heedful.datasets.synthetic import Links, SyntheticTask, made_up_words

SHORTEST, LONGEST = 4, 16  # symbols of copy, reverse and sort


class _LetterTask(SyntheticTask):
    """Letters to the same letters in another order."""

    def pair(self, index: int, seed: int) -> Pair:
        rng = self._rng(index, seed)
        letters = rng.choices(ascii_lowercase, k=rng.randint(SHORTEST, LONGEST))
        return Pair(" ".join(letters), " ".join(self.answer(letters)))

    @abstractmethod
    def answer(self, letters: list[str]) -> list[str]:
        """Return the target of a source."""


@final
class Copy(_LetterTask):
    """The same letters again."""

    name = "copy"
    description = f"{SHORTEST} to {LONGEST} letters, the same again"

    def answer(self, letters: list[str]) -> list[str]:
        return letters


@final
class Reverse(_LetterTask):
    """The letters from the last to the first."""

    name = "reverse"
    description = f"{SHORTEST} to {LONGEST} letters, from the last to the first"

    def answer(self, letters: list[str]) -> list[str]:
        return letters[::-1]


@final
class Sort(_LetterTask):
    """The letters in alphabetical order."""

    name = "sort"
    description = f"{SHORTEST} to {LONGEST} letters, in alphabetical order"

    def answer(self, letters: list[str]) -> list[str]:
        return sorted(letters)


class _Word(NamedTuple):
    source: str
    target: tuple[str, ...]  # one word, or two for some nouns


@final
class LexiconTask(SyntheticTask):
    """A sentence of a made-up language, word by word by a dictionary into another one with another word order.

    Source: one to three clauses of noun phrase, verb, noun phrase; a phrase is up to two adjectives, then a noun.
    Target: the verb goes to the end of its clause, adjectives go behind their noun in the opposite order, and every
    fifth noun is two words.
    """

    name = "lexicon"
    description = "a made-up language into another: dictionary, word order, and the true alignment"

    def __init__(self) -> None:
        rng = random.Random("lexicon")
        words = made_up_words(rng, "ptkmnls", "aiu", 220), made_up_words(rng, "bdgvzrf", "eoy", 240)
        sources, targets = (iter(side) for side in words)
        self._nouns = [_Word(next(sources), tuple(islice(targets, 2 if n % 5 == 0 else 1))) for n in range(100)]
        self._adjectives = [_Word(next(sources), (next(targets),)) for _ in range(60)]
        self._verbs = [_Word(next(sources), (next(targets),)) for _ in range(60)]

    def pair(self, index: int, seed: int) -> Pair:
        source, order = self._sentence(index, seed)
        target = [word for place in order for word in source[place].target]
        return Pair(" ".join(word.source for word in source), " ".join(target))

    def alignment(self, index: int, seed: int) -> Links:
        """Return the source word of each target word of the pair, in the order of the target."""
        source, order = self._sentence(index, seed)
        origins = [place for place in order for _ in source[place].target]
        return [(place, position) for position, place in enumerate(origins)]

    def _sentence(self, index: int, seed: int) -> tuple[list[_Word], list[int]]:
        """Return the words of the source, and the order in which the target takes them."""
        rng = self._rng(index, seed)
        words: list[_Word] = []
        order: list[int] = []
        for _ in range(rng.randint(1, 3)):
            subject = self._phrase(rng, words)
            verb = len(words)
            words.append(rng.choice(self._verbs))
            order += [*subject, *self._phrase(rng, words), verb]
        return words, order

    def _phrase(self, rng: random.Random, words: list[_Word]) -> list[int]:
        """Append the words of a noun phrase; their places in the order of the target."""
        start = len(words)
        words += rng.sample(self._adjectives, rng.randint(0, 2))
        words.append(rng.choice(self._nouns))
        return list(range(start, len(words)))[::-1]


CORE_TASKS: dict[str, SyntheticTask] = {
    task.name: task for task in (Copy(), Reverse(), Sort(), LexiconTask(), Articles(), TaggedTask(), Squeezed())
}
