"""A made task for attention to few keys: one value among many distractors. Knows nothing of files."""

from typing import final

from heedful.data.corpus import Pair
from heedful.datasets.synthetic import SyntheticTask


@final
class Recall(SyntheticTask):
    """32 keys of 64, each with a value of 32, then one of the keys again: its value."""

    name = "recall"
    description = "32 keys with values, then one of the keys, to its value: one known position among 31 distractors"
    sides = ("symbols", "label")
    pairs = 32

    def pair(self, index: int, seed: int) -> Pair:
        keys, values, asked = self._row(index, seed)
        row = [word for key, value in zip(keys, values, strict=True) for word in (f"k{key}", f"v{value}")]
        return Pair(" ".join([*row, f"k{keys[asked]}"]), f"v{values[asked]}")

    def position(self, index: int, seed: int) -> int:
        """Return the position of the value that is the answer."""
        return 2 * self._row(index, seed)[2] + 1

    def _row(self, index: int, seed: int) -> tuple[list[int], list[int], int]:
        """Make the keys, their values, and the index of the key in question."""
        rng = self._rng(index, seed)
        keys = rng.sample(range(64), self.pairs)
        return keys, [rng.randrange(32) for _ in keys], rng.randrange(self.pairs)
