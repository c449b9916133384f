"""Learning a sentencepiece model from text.

Knows nothing of how the model is used.
"""

import io
import re

import sentencepiece

from heedful.errors import ConfigError, HeedfulError
from heedful.text.config import SideConfig
from heedful.text.normalise import TextNormaliser
from heedful.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, UNKNOWN

THREADS = 16  # a constant, since sums over threads, and so the pieces, depend on their number
LONGEST_LINE = 1 << 20  # bytes; sentencepiece leaves longer lines out, by default those over 4,192


def train_model(config: SideConfig, text: list[str]) -> bytes:
    """Train a sentencepiece model with exactly `vocab_size` pieces; return the content of its file.

    Raises ConfigError where the text cannot give so many, or its characters alone are more; it names what can be.
    """
    normalise = TextNormaliser.of(config)
    model = io.BytesIO()
    pad, unk, bos, eos = SPECIALS
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=map(normalise, text),
            model_writer=model,
            model_type=config.algorithm,
            vocab_size=config.vocab_size,
            character_coverage=config.character_coverage,
            normalization_rule_name="nfkc" if normalise.form == "NFKC" else "identity",
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            pad_piece=pad,
            unk_piece=unk,
            bos_piece=bos,
            eos_piece=eos,
            unk_surface=UNKNOWN,
            max_sentence_length=LONGEST_LINE,
            num_threads=THREADS,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _explained(error, config) from None
    return model.getvalue()


def _explained(error: RuntimeError, config: SideConfig) -> HeedfulError:
    """Explain an error of sentencepiece, with the way out."""
    size = f"`vocab_size` is {config.vocab_size}"
    if largest := re.search(r"Please set it to a value <= (\d+)", str(error)):
        hint = f"Set it to at most {largest[1]}: tokenizer.source.vocab_size, or that of the target."
        return ConfigError(f"{size}, but this text gives {largest[1]} different pieces at most.", hint=hint)
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error)):
        hint = f"Set it to more than {smallest[1]}, or lower `character_coverage` ({config.character_coverage})."
        return ConfigError(f"{size}, but the characters of this text alone need {smallest[1]}.", hint=hint)
    return HeedfulError(f"sentencepiece cannot learn from this text: {error}")
