"""Random segmentations: against sentencepiece's own best one, against enumeration, and by their seeds."""

import math
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest
from tests.text.made_up import sentences

from heedful.text.config import SideConfig
from heedful.text.sampling import BpeSegmenter, UnigramSegmenter
from heedful.text.tokenizer import SentencePieceTokenizer, train_tokenizer
from heedful.text.vocabulary import SPECIALS, UNK

LINES = sentences(400)
UNSEEN = [*sentences(100, seed=9), "☃", "a☃☃b ☃", "Ω"]
PIECES = [("▁", -2.0), ("a", -1.5), ("b", -2.5), ("▁a", -1.0), ("ab", -2.2), ("ba", -3.0), ("▁ab", -4.0)]


def trained(algorithm: Literal["unigram", "bpe"], sampling: float) -> SentencePieceTokenizer:
    tokenizer = train_tokenizer(SideConfig(algorithm=algorithm, vocab_size=250, sampling=sampling), LINES, seed=1)
    assert isinstance(tokenizer, SentencePieceTokenizer)
    return tokenizer


def table(tokenizer: SentencePieceTokenizer) -> list[tuple[str, float]]:
    processor = tokenizer._processor
    return [
        (processor.id_to_piece(index), processor.get_score(index)) for index in range(len(SPECIALS), len(tokenizer))
    ]


def segmentations(word: str, pieces: dict[str, int]) -> Iterator[list[int]]:
    """All of them, by recursion."""
    if not word:
        yield []
    for end in range(1, len(word) + 1):
        if word[:end] in pieces:
            yield from ([pieces[word[:end]], *rest] for rest in segmentations(word[end:], pieces))


@pytest.mark.parametrize("algorithm", ["unigram", "bpe"])
class TestBothAlgorithms:
    def test_a_sample_is_another_way_to_write_the_same_text(self, algorithm: Literal["unigram", "bpe"]) -> None:
        tokenizer = trained(algorithm, 0.3)
        different = 0
        for seed, line in enumerate(LINES[:100]):
            ids = tokenizer.sample(line, seed)
            assert tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode(line))
            different += ids != tokenizer.encode(line)
        assert different > 40

    def test_function_of_text_and_seed_in_any_thread(self, algorithm: Literal["unigram", "bpe"]) -> None:
        tokenizer, again = trained(algorithm, 0.3), trained(algorithm, 0.3)
        once = [tokenizer.sample(line, 7) for line in LINES]
        random.seed(0)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda line: again.sample(line, 7), reversed(LINES))) == once[::-1]
        assert once != [tokenizer.sample(line, 8) for line in LINES]

    def test_blank_text(self, algorithm: Literal["unigram", "bpe"]) -> None:
        assert trained(algorithm, 0.3).sample("  ", 1) == []


def test_bpe_without_dropout_is_sentencepiece() -> None:
    tokenizer = trained("bpe", 0.5)
    segmenter = BpeSegmenter(table(tokenizer), dropout=0.0)
    for line in [*LINES, *UNSEEN]:
        assert segmenter.sample(tokenizer.normalise(line), seed=1) == tokenizer.encode(line)


def test_bpe_with_nearly_full_dropout_is_characters() -> None:
    tokenizer = trained("bpe", 0.5)
    segmenter = BpeSegmenter(table(tokenizer), dropout=1 - 1e-12)
    ids = segmenter.sample("Bala", seed=1)
    assert [tokenizer.piece(index) for index in ids] == ["▁", "B", "a", "l", "a"]


def test_bpe_dropout_by_hand() -> None:
    """Pieces a, b, ab: of "▁ab" the only merge is made with probability 0.7."""
    segmenter = BpeSegmenter([("▁", -9.0), ("a", -8.0), ("b", -7.0), ("ab", 0.0)], dropout=0.3)
    counts = Counter(tuple(segmenter.sample("ab", seed)) for seed in range(4000))
    assert set(counts) == {(4, 7), (4, 5, 6)}
    assert abs(counts[4, 7] / 4000 - 0.7) < 4 * math.sqrt(0.21 / 4000)


def test_unigram_with_large_alpha_is_sentencepiece() -> None:
    """But for ties within rounding: sentencepiece adds up 32-bit scores."""
    tokenizer = trained("unigram", 0.5)
    pieces = table(tokenizer)
    scores = dict(enumerate((score for _, score in pieces), start=len(SPECIALS)))
    segmenter = UnigramSegmenter(pieces, alpha=1000.0)
    unknown = min(scores.values()) - 10

    def total(ids: list[int]) -> float:
        return sum(scores.get(index, unknown) for index in ids)

    same = 0
    for line in [*LINES, *UNSEEN]:
        mine, theirs = segmenter.sample(tokenizer.normalise(line), seed=1), tokenizer.encode(line)
        same += mine == theirs
        assert total(mine) >= total(theirs) - 1e-2 or UNK in theirs
        assert mine.count(UNK) == theirs.count(UNK)
    assert same > 0.97 * len([*LINES, *UNSEEN])


@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_unigram_probabilities_by_enumeration(alpha: float) -> None:
    """Each segmentation as often as its P^alpha says, in 5,000 draws; chi-squared with 99.9 % bounds."""
    segmenter = UnigramSegmenter(PIECES, alpha)
    ids = {piece: index for index, (piece, _) in enumerate(PIECES, start=len(SPECIALS))}
    scores = {ids[piece]: score for piece, score in PIECES}
    ways = {tuple(way): math.exp(alpha * sum(scores[i] for i in way)) for way in segmentations("▁abab", ids)}
    total = sum(ways.values())
    counts = Counter(tuple(segmenter.sample("abab", seed)) for seed in range(5000))
    assert set(counts) <= set(ways)
    assert len(ways) == 10  # 5 after ▁, 3 after ▁a, 2 after ▁ab
    chi_squared = sum(
        (counts[way] - 5000 * weight / total) ** 2 / (5000 * weight / total) for way, weight in ways.items()
    )
    assert chi_squared < 27.9  # 9 degrees of freedom


def test_unknown_characters_join_to_one() -> None:
    segmenter = UnigramSegmenter(PIECES, alpha=1.0)
    assert segmenter.sample("☃☃", seed=1) == [4, UNK]
    assert segmenter.sample("☃ ☃", seed=1) == [4, UNK, 4, UNK]
