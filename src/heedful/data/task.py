"""What a synthetic task is: an endless supply of pairs with one rule, and a split for each source.

Knows no task: see `heedful.data.tasks`.
"""

import hashlib
import random
from abc import ABC, abstractmethod

from heedful.data.corpus import Pair

SPLITS = ("train", "dev", "test")
PART = "|||"  # the word between the parts of a source: sentences, or premise and hypothesis
Links = list[tuple[int, int]]  # (source position, target position), from 0


class Task(ABC):
    """An endless supply of pairs with one rule."""

    name: str
    description: str
    sides = ("symbols", "symbols")  # what source and target are made of

    @abstractmethod
    def pair(self, index: int, seed: int) -> Pair:
        """The pair with this index."""

    def references(self, source: str, target: str) -> list[str]:
        """All right targets of a source that has this one, which comes first."""
        return [target]

    def split(self, source: str) -> str:
        """The split that a source belongs to, whatever its index and seed."""
        return split_of(source)

    def _rng(self, index: int, seed: int) -> random.Random:
        return random.Random(f"{self.name} {seed} {index}")


def split_of(source: str) -> str:
    """The split of a source by its hash: a tenth each to dev and test."""
    bucket = hashlib.sha256(source.encode()).digest()[0] % 10
    return {0: "dev", 1: "test"}.get(bucket, "train")


def made_up_words(rng: random.Random, consonants: str, vowels: str, count: int) -> list[str]:
    """Different words of two or three syllables."""
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.randint(2, 3)))] = None
    return list(words)
