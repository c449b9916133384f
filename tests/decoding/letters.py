"""A translator between lines of letters, with a model that never learned anything."""

from collections.abc import Mapping

import torch
from tests.models.tiny import tiny_config

from heedful.decoding.config import BeamSearch, with_changes
from heedful.decoding.translator import Translator
from heedful.models.transformer import Transformer
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizers

WORDS = "a b c d e f ."

TOKENIZERS: Tokenizers = train_tokenizers(
    TokenizerConfig(joint=True, source=SideConfig(kind="words")), [(WORDS, WORDS)], seed=1
)


def translator(changes: Mapping[str, object] | None = None) -> Translator:
    """One layer with random weights, in double precision; outputs are at most 3 words longer than the source."""
    torch.manual_seed(4)
    config = tiny_config({"n_encoder_layers": 1, "n_decoder_layers": 1})
    size = len(TOKENIZERS.target)
    model = Transformer(config, size, size).double()
    search = with_changes(BeamSearch(beam=3, max_extra=3), changes or {})
    return translator_of(model, TOKENIZERS, search)
