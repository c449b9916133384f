"""What a synthetic task is: an endless supply of pairs with one rule, and a split for each source.

Knows no task: see `synthetic_tasks`, and the gallery.
"""

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count, islice

from heedful.data.corpus import Pair
from heedful.errors import ConfigError

SPLITS = ("train", "dev", "test")
PART = "|||"  # the word between the parts of a source: sentences, or premise and hypothesis
Links = list[tuple[int, int]]  # (source position, target position), from 0


class SyntheticTask(ABC):
    """An endless supply of pairs with one rule."""

    name: str
    description: str
    sides = ("symbols", "symbols")  # what source and target are made of

    @abstractmethod
    def pair(self, index: int, seed: int) -> Pair:
        """Return the pair with this index."""

    def references(self, source: str, target: str) -> list[str]:
        """Return all right targets of a source that has this one, which comes first."""
        return [target]

    def split(self, source: str) -> str:
        """Return the split that a source belongs to, whatever its index and seed."""
        return split_of(source)

    def _rng(self, index: int, seed: int) -> random.Random:
        return random.Random(f"{self.name} {seed} {index}")


def split_of(source: str) -> str:
    """Return the split of a source by its hash: a tenth each go to dev and test."""
    bucket = hashlib.sha256(source.encode()).digest()[0] % 10
    return {0: "dev", 1: "test"}.get(bucket, "train")


def made_up_words(rng: random.Random, consonants: str, vowels: str, count: int) -> list[str]:
    """Make different words of two or three syllables."""
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.randint(2, 3)))] = None
    return list(words)


def task_indices(task: SyntheticTask, seed: int, split: str, n_pairs: int) -> Iterator[int]:
    """Yield the indices of the first `n_pairs` pairs of a split."""
    return (index for index, _ in _numbered_pairs(task, seed, split, n_pairs))


def task_pairs(task: SyntheticTask, seed: int, split: str, n_pairs: int) -> Iterator[Pair]:
    """Yield the first `n_pairs` pairs of a split; no source of one split is in another."""
    return (pair for _, pair in _numbered_pairs(task, seed, split, n_pairs))


def _numbered_pairs(task: SyntheticTask, seed: int, split: str, n_pairs: int) -> Iterator[tuple[int, Pair]]:
    if split not in SPLITS:
        hint = f"There are: {', '.join(SPLITS)}."
        raise ConfigError(f"The synthetic task `{task.name}` has no split `{split}`.", hint=hint)
    pairs = ((index, task.pair(index, seed)) for index in count())
    return islice((found for found in pairs if task.split(found[1].source) == split), n_pairs)
