"""Whether what makes one vector of a sentence reads the words that decide, and whether its rows read alike.

Knows no task and no file: whoever calls says what is true. Values are in per cent.
"""

from collections.abc import Sequence
from itertools import combinations

from jaxtyping import Float
from torch import Tensor, nn

from heedful.decoding.translator import Translator

READING = "reader.0.read"


def planted_words(translator: Translator, texts: Sequence[tuple[str, Sequence[int]]]) -> dict[str, float]:
    """Measure how well the words that are read (weights above 0) are the planted ones, whose positions stand beside
    each text.

    "precision", "recall" and "f1" over all texts together. Raises ValueError where there are no texts.
    """
    _require("texts", texts)
    right = read = planted = 0
    for source, positions in texts:
        chosen = set((_rows(translator, source) > 0).any(dim=0).nonzero().flatten().tolist())
        right += len(chosen & set(positions))
        read += len(chosen)
        planted += len(positions)
    f1 = 2 * right / (read + planted)
    return {"precision": 100 * right / max(1, read), "recall": 100 * right / planted, "f1": 100 * f1}


def glimpses(translator: Translator, texts: Sequence[tuple[str, int]]) -> dict[str, float]:
    """Measure how often the word that is read most is the one whose position stands beside its text: "hit@1", and by
    "chance".

    Raises ValueError where there are no texts.
    """
    _require("texts", texts)
    hits = chance = 0.0
    for source, position in texts:
        hits += int(_rows(translator, source)[0].argmax()) == position
        chance += 1 / len(source.split())
    return {"hit@1": 100 * hits / len(texts), "chance": 100 * chance / len(texts)}


def overlap_of_rows(translator: Translator, sources: Sequence[str]) -> dict[str, float]:
    """Compute the mean cosine between two rows of weights of a sentence: 100 if all read alike, 0 if each reads other
    words.

    Raises ValueError where there are no sources, or where a model has one row only.
    """
    _require("sources", sources)
    cosines: list[float] = []
    for source in sources:
        rows = _rows(translator, source)
        if len(rows) < 2:
            raise ValueError("This model reads a sentence by one row of weights, which overlaps with no other.")
        cosines += [float(nn.functional.cosine_similarity(a, b, dim=0)) for a, b in combinations(rows, 2)]
    return {"overlap": 100 * sum(cosines) / len(cosines)}


def _rows(translator: Translator, source: str) -> Float[Tensor, "R S"]:
    """Return the weights by which the sentence is read; the positions of its words are those of the tokens."""
    return translator.trace(source).map(READING).weights[:, 0]


def _require(name: str, given: Sequence[object]) -> None:
    if not given:
        raise ValueError(f"`{name}` must not be empty.")
