"""Text for the tests of this folder."""

import random

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in ("a", "e", "i", "o", "u", "ö")]


def sentences(count: int, seed: int = 0) -> list[str]:
    """Made-up sentences of frequent and rare words, with accents and punctuation."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(300)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    lines = [rng.choices(words, weights, k=rng.randint(3, 12)) for _ in range(count)]
    return [" ".join(line).capitalize() + rng.choice([".", "!", " ?"]) for line in lines]
