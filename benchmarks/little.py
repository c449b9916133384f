"""A bundle that was never trained, for smoke tests: words as tokens, sizes of a toy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from heedful.data.corpus import Pair
from heedful.models.bundle import Bundle, save_bundle
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

WORDS = [
    "a",
    "man",
    "walks",
    "his",
    "dog",
    "along",
    "the",
    "river",
    "while",
    "two",
    "children",
    "play",
    "with",
    "red",
    "ball",
]


def little_bundle(folder: Path, changes: Mapping[str, Any] | None = None) -> Path:
    """Write a random model of a few words into `folder`."""
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_encoder_layers": 1, "n_decoder_layers": 1}
    config = TransformerConfig.model_validate({**sizes, "norm": "pre", "activation": "relu", **(changes or {})})
    pairs = [Pair(" ".join(WORDS), " ".join(reversed(WORDS)))]
    tokenizer = TokenizerConfig(source=SideConfig(kind="words", vocab_size=100))
    tokenizers = train_tokenizers(tokenizer, pairs, seed=1)
    torch.manual_seed(1)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    recipe = {
        "data": {"train": ["none.tsv"], "dev": ["none.tsv"]},
        "tokenizer": tokenizer.model_dump(exclude_none=True),
        "model": config.model_dump(exclude_none=True),
    }
    save_bundle(folder, Bundle(model.eval(), tokenizers, recipe, config), "A random model for smoke tests.\n")
    return folder
