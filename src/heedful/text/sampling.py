"""Random segmentations of text into the pieces of a subword model: unigram sampling and BPE-dropout.

sentencepiece samples from a generator of its own that belongs to a thread and cannot be set for one call. Here a
segmentation is a function of the text and a seed, so that an interrupted training run goes on with the very same data.

Knows the pieces with their scores and how sentencepiece writes a blank, and nothing of the Unicode form of text.
"""

import math
import random
from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import final

from heedful.text.normalise import BLANK_PIECE
from heedful.text.vocabulary import SPECIALS, UNK

CACHED_WORDS = 65536  # a corpus repeats its words, so that their lattices are worth keeping
UNKNOWN_PENALTY = 10.0  # sentencepiece gives an unknown character the lowest score less this

Piece = tuple[str, float]  # its text and its score


class Segmenter(ABC):
    """Samples segmentations of text that is normalised as the model expects it."""

    def sample(self, text: str, seed: int) -> list[int]:
        """Return the ids of one random segmentation; two texts with the same seed have draws of their own."""
        rng = random.Random(f"{seed} {text}")
        ids: list[int] = []
        for word in text.split(" ") if text else ():
            cut = self.word(BLANK_PIECE + word, rng)
            if UNK in cut:  # sentencepiece joins neighbouring unknown characters to one piece
                cut = [index for place, index in enumerate(cut) if place == 0 or index != UNK or cut[place - 1] != UNK]
            ids += cut
        return ids

    @abstractmethod
    def word(self, word: str, rng: random.Random) -> list[int]:
        """Return the ids of one word, which starts with the sign for a blank. No piece reaches over the border of a
        word.
        """


def segmenter(algorithm: str, pieces: Sequence[Piece], strength: float) -> Segmenter:
    """Make the segmenter of a subword model; `pieces` are those after the special ones, in the order of their ids."""
    return UnigramSegmenter(pieces, strength) if algorithm == "unigram" else BpeSegmenter(pieces, strength)


@final
class UnigramSegmenter(Segmenter):
    """Segmentation x has probability P(x)^alpha / sum over x' of P(x')^alpha [Kudo 2018, section 3.2, l = infinity].

    P is the unigram model's: the product of its pieces' probabilities. The sample is exact: forward sums over all
    segmentations, then pieces are drawn from the end of the word to its start. The nearer alpha is to 0, the more alike
    all segmentations are.
    """

    def __init__(self, pieces: Sequence[Piece], alpha: float) -> None:
        self._pieces = {piece: (index, score) for index, (piece, score) in enumerate(pieces, start=len(SPECIALS))}
        self._longest = max(map(len, self._pieces))
        self._unknown = min(score for _, score in pieces) - UNKNOWN_PENALTY
        self._alpha = alpha
        self._lattice = lru_cache(CACHED_WORDS)(self._build)

    def word(self, word: str, rng: random.Random) -> list[int]:
        lattice = self._lattice(word)
        end, ids = len(word), []
        while end > 0:
            cumulative, ways = lattice[end - 1]
            start, index = ways[0] if len(ways) == 1 else ways[bisect(cumulative, rng.random(), hi=len(ways) - 1)]
            ids.append(index)
            end = start
        return ids[::-1]

    def _build(self, word: str) -> list[tuple[list[float], list[tuple[int, int]]]]:
        """List for each end of a piece the (start, id) of the pieces that end there, and their cumulative
        probabilities.
        """
        forward = [0.0]  # log of the summed weights of all segmentations of word[:end]
        lattice = []
        for end in range(1, len(word) + 1):
            ways, weights = [], []
            for start in range(max(0, end - self._longest), end):
                found = self._pieces.get(word[start:end])
                if found is None and start == end - 1:
                    found = (UNK, self._unknown)
                if found is not None:
                    ways.append((start, found[0]))
                    weights.append(forward[start] + self._alpha * found[1])
            top = max(weights)
            shares = [math.exp(weight - top) for weight in weights]
            total = math.fsum(shares)
            forward.append(top + math.log(total))
            lattice.append(([share / total for share in accumulate(shares)], ways))
        return lattice


@final
class BpeSegmenter(Segmenter):
    """BPE-dropout: each step leaves out every possible merge with probability p [Provilkov 2020, Algorithm 1].

    The best of the others is made; a word is finished when none is left. p = 0 is plain byte pair encoding.
    """

    def __init__(self, pieces: Sequence[Piece], dropout: float) -> None:
        self._pieces = {piece: (index, score) for index, (piece, score) in enumerate(pieces, start=len(SPECIALS))}
        self._dropout = dropout

    def word(self, word: str, rng: random.Random) -> list[int]:
        symbols = list(word)
        find, draw, dropout = self._pieces.get, rng.random, self._dropout
        merges = [find(left + right) for left, right in pairwise(symbols)]
        while True:
            best, place = -math.inf, -1
            for index, merge in enumerate(merges):
                if merge is not None and merge[1] > best and draw() >= dropout:
                    best, place = merge[1], index
            if place < 0:
                break
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
            del merges[place]
            if place > 0:
                merges[place - 1] = find(symbols[place - 1] + symbols[place])
            if place < len(merges):
                merges[place] = find(symbols[place] + symbols[place + 1])
        return [known[0] if (known := find(symbol)) is not None else UNK for symbol in symbols]
