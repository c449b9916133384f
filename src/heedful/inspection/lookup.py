"""Attention as a question to a database: four people, their ages, and two questions, answered in every way.

All numbers come from `attend`. Knows no printing.
"""

from typing import NamedTuple

import torch

from heedful.attention import Argmax, Cosine, Normaliser, Score, Sparsemax, attend, dot, scaled_dot, softmax

PEOPLE = ("Zhang San", "Zhang San", "Li Si", "Zhang Wei")
KEYS = ((1.0, 2.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 2.0), (1.0, 4.0, 0.0))
AGES = (18.0, 20.0, 22.0, 19.0)
QUESTIONS = {"the Zhangs": (1.0, 0.0, 0.0), "Zhang San": (1.0, 2.0, 0.0)}
SHARPNESS = (2.0, 4.0, 8.0, 16.0)


class LookupResult(NamedTuple):
    """The age that a way of asking gives, and the weight of each of the four people in it."""

    question: str
    way: str
    age: float
    weights: tuple[float, ...]


def look_up() -> list[LookupResult]:
    """Look up both questions by dot product, scaled, sharpened, sparse, hard, and by the angle alone."""
    ways: list[tuple[str, float, Score, Normaliser]] = [
        ("softmax", 1.0, dot, softmax),
        ("softmax, scaled by 1 / sqrt(3)", 1.0, scaled_dot, softmax),
        *((f"softmax, {sharpness:g} times as sharp", sharpness, dot, softmax) for sharpness in SHARPNESS),
        ("sparsemax", 1.0, dot, Sparsemax()),
        ("hard: the first of the best", 1.0, dot, Argmax()),
        ("cosine, temperature 1", 1.0, Cosine(), softmax),
        ("cosine, temperature 0.05", 1.0, Cosine(temperature=0.05), softmax),
    ]
    return [
        _ask(question, way, sharpness, score, normalise)
        for question in QUESTIONS
        for way, sharpness, score, normalise in ways
    ]


def _ask(question: str, way: str, sharpness: float, score: Score, normalise: Normaliser) -> LookupResult:
    query = sharpness * torch.tensor(QUESTIONS[question], dtype=torch.float64)
    keys, ages = torch.tensor(KEYS, dtype=torch.float64), torch.tensor(AGES, dtype=torch.float64)[:, None]
    read = attend(query[None, None, None], keys[None, None], ages[None, None], score=score, normalise=normalise)
    assert read.weights is not None
    return LookupResult(question, way, read.context.item(), tuple(read.weights.flatten().tolist()))
