"""Pairs and tokenisers for the tests of this folder."""

from heedful.data.corpus import Pair
from heedful.datasets.synthetic import task_pairs
from heedful.recipe.tables import TASKS
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizers


def pairs(count: int) -> list[Pair]:
    """Sentences of the made-up language and their translations."""
    return list(task_pairs(TASKS["lexicon"], 1, "train", count))


def word_tokenizers(corpus: list[Pair]) -> Tokenizers:
    """Each side with its own words."""
    words = SideConfig(kind="words")
    return train_tokenizers(TokenizerConfig(joint=False, source=words, target=words), corpus, seed=1)


def sampling_tokenizers(corpus: list[Pair]) -> Tokenizers:
    """Joint byte pairs with dropout."""
    side = SideConfig(algorithm="bpe", vocab_size=150, sampling=0.3)
    return train_tokenizers(TokenizerConfig(source=side), corpus, seed=1)
