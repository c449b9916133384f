"""A synthetic task of tagging: what a review speaks of and what it says of it, each an aspect or opinion by the other.

Knows nothing of files.
"""

import hashlib
import random
from typing import final

from heedful.data.corpus import Pair
from heedful.datasets.synthetic import SyntheticTask


def _words(text: str) -> list[str]:
    return text.split()


NOUNS = _words(
    "fish pasta soup salad bread wine coffee dessert steak pizza rice curry service staff waiter menu terrace table "
    "music view room kitchen chef bar price portion sauce cheese chicken burger tea beer cake lamb duck noodle taco "
    "sushi oyster decor garden location brunch lunch dinner breakfast buffet cocktail"
)
ADJECTIVES = _words(
    "fresh cold warm hot sweet dark light quiet loud heavy fast slow rich dry old new small big bright soft hard "
    "simple rough clean thick thin strong weak sharp smooth empty full cheap dear plain fancy busy calm wild cool"
)
OTHERS = _words("morning evening day street town friend trip week coat car road winter summer taxi night walk")
DEGREES = _words("very so really too quite rather")
FILLERS = _words("we all had there again this time as usual at last with them for two after work")
LINKS = (",", "and", "but", ";")
HELD_OUT = 4  # of so many nouns and adjectives, one never stands in train
Tagged = list[tuple[str, str]]  # words with their tags


@final
class Reviews(SyntheticTask):
    """Words of reviews to the tags B-target, I-target, B-expression, I-expression and O, one a word.

    A noun of NOUNS is a target only if its clause says something of it by an adjective of ADJECTIVES, which then is an
    expression, together with its adverb of degree. The same words are nothing where a noun is only ordered, or where an
    adjective speaks of a morning or a street, even in one clause. Up to five fillers may stand between the two. A
    fourth of the nouns and adjectives is held out: they stand in about half of the pairs of dev and test, never in
    train.
    """

    name = "reviews"
    description = "reviews to tags of targets and expressions, each only through the other; a fourth of words unseen"
    sides = ("words", "tags")

    def __init__(self) -> None:
        self._nouns, self._adjectives = (_parted(words) for words in (NOUNS, ADJECTIVES))
        self.held_out = frozenset(self._nouns[1] + self._adjectives[1])  # the words that never stand in train

    def pair(self, index: int, seed: int) -> Pair:
        rng = self._rng(index, seed)
        unseen = 0.5 if rng.random() < 0.2 else 0.0
        tagged: Tagged = []
        for clause in range(rng.randint(1, 3)):
            if clause:
                tagged += _plain(rng.choice(LINKS))
            tagged += self._clause(rng, unseen)
        tagged += _plain(".")
        return Pair(" ".join(word for word, _ in tagged), " ".join(tag for _, tag in tagged))

    def split(self, source: str) -> str:
        if self.held_out & set(source.split()):
            return ("dev", "test")[hashlib.sha256(source.encode()).digest()[0] % 2]
        return super().split(source)

    def _clause(self, rng: random.Random, unseen: float) -> Tagged:
        """Make one clause of one of seven forms; `unseen` is the chance of each noun and adjective to be a held-out
        one.
        """
        noun, second = (self._noun(rng, unseen) for _ in range(2))
        adjective = _drawn(rng, self._adjectives, unseen)
        degree = [rng.choice(DEGREES)] if rng.random() < 0.4 else []
        opinion = [*degree, adjective]
        between = _plain(*rng.choices(FILLERS, k=rng.randint(0, 5)))
        other = rng.choice(OTHERS)
        forms = (
            [*_plain("the"), *_span(noun, "target"), *between, *_plain("was"), *_span(opinion, "expression")],
            [*_plain("we", "had"), *_span(opinion, "expression"), *_span(noun, "target"), *between],
            [
                *(*_plain("the"), *_span(noun, "target"), *_plain("and", "the"), *_span(second, "target")),
                *(*between, *_plain("were"), *_span(opinion, "expression")),
            ],
            [*_plain("we", "ordered", "the", *noun), *between],
            [*_plain("the", other), *between, *_plain("was", *opinion)],
            [*_plain("it", "was", "a", *opinion, other), *between],
            [*_plain("we", "had", "the", *noun), *between, *_plain("on", "a", *opinion, other)],
        )
        return rng.choice(forms)

    def _noun(self, rng: random.Random, unseen: float) -> list[str]:
        """Make a noun, or two that make one name."""
        return [_drawn(rng, self._nouns, unseen) for _ in range(2 if rng.random() < 0.25 else 1)]


def _parted(words: list[str]) -> tuple[list[str], list[str]]:
    """Split words into those for all splits, and those that are held out."""
    seen = [word for position, word in enumerate(words) if position % HELD_OUT]
    return seen, words[::HELD_OUT]


def _drawn(rng: random.Random, words: tuple[list[str], list[str]], unseen: float) -> str:
    return rng.choice(words[rng.random() < unseen])


def _plain(*words: str) -> Tagged:
    return [(word, "O") for word in words]


def _span(words: list[str], kind: str) -> Tagged:
    return [(word, f"{'I' if position else 'B'}-{kind}") for position, word in enumerate(words)]
