"""Results of a translator: tokens, candidates, translations and scores. Knows no model."""

from typing import NamedTuple


class Token(NamedTuple):
    """One piece of an output and its natural log-probability, given the source and the pieces before it."""

    piece: str
    log_p: float


class Candidate(NamedTuple):
    """One output among the n best."""

    text: str
    score: float  # log_p over the length penalty: what search ranks by
    log_p: float
    tokens: list[Token]  # the last one is "</s>"


class Translation(NamedTuple):
    """The output of one input line; `n_best` begins with it. A blank line gives "" with log-probability 0."""

    text: str
    score: float
    tokens: list[Token]
    n_best: list[Candidate]
    warnings: list[str]
    unknown: int = 0  # symbols of the source that the vocabulary lacks


class Scored(NamedTuple):
    """Scores that the model gives to a given output."""

    log_p: float  # of the whole output, "</s>" included
    tokens: list[Token]
