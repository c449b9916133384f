"""The tokenised text in which some published scores were counted, made from raw text.

Moses's scripts by sacremoses. From Multi30k's raw files it makes the published `lc.norm.tok` lines exactly, but for one
line in each of val.de, val.fr and test_2016_flickr.fr (checked: val and both tests, in English, German and French).
"""

from collections.abc import Sequence

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from heedful.evaluation.config import EvaluationConfig


def moses_lowercase(lines: Sequence[str], language: str) -> list[str]:
    """Apply lowercase.perl, normalize-punctuation.perl -l LANGUAGE, tokenizer.perl -l LANGUAGE, in this order."""
    normaliser, tokenizer = MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)
    return [" ".join(tokenizer.tokenize(normaliser.normalize(line.lower()))) for line in lines]


def describe(config: EvaluationConfig, given: bool) -> str:
    """Describe `tokenise` for a signature. With `given` references, only outputs go through it."""
    name = config.postprocess if config.postprocess == "none" else f"{config.postprocess}.{config.language}"
    return f"{name},refs.given" if given else name


def tokenise(lines: Sequence[str], config: EvaluationConfig) -> list[str]:
    """Apply the configured postprocessing to lines."""
    if config.postprocess == "none":
        return list(lines)
    assert config.language is not None  # EvaluationConfig sees to it
    return moses_lowercase(lines, config.language)
