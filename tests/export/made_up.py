"""Bundles of random weights, of any architecture and any tokeniser, and made-up text for them."""

import random

import torch

from heedful.config import to_tree
from heedful.models.bundle import Bundle
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.text.config import SideConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizer

SYLLABLES = ("ka", "to", "mi", "Ra", "é", "ü", "ß", "lo", "ne", "Σα", "ς", "x", "-", ".", "½", "ﬁ", "İ")
BASE: dict[str, object] = {
    "d_model": 24,
    "n_heads": 4,
    "d_ff": 32,
    "n_encoder_layers": 2,
    "n_decoder_layers": 1,
    "norm": "pre",
    "activation": "relu",
}
SEARCH = {"beam": 3, "max_extra": 4}


def made_up_lines(count: int, seed: int = 0) -> list[str]:
    """Lines of one to eight made-up words."""
    rng = random.Random(seed)

    def word() -> str:
        return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4)))

    return [" ".join(word() for _ in range(rng.randint(1, 8))) for _ in range(count)]


LINES = made_up_lines(300)


def side(kind: str, **settings: object) -> SideConfig:
    """Settings of a tokeniser that the made-up lines can fill."""
    return SideConfig.model_validate({"kind": kind, "vocab_size": 110 if kind == "sentencepiece" else 400, **settings})


def made_up_tokenizers(source: SideConfig, target: SideConfig | None) -> Tokenizers:
    """Tokenisers of the made-up lines; joint without a target side."""
    first = train_tokenizer(source, LINES, seed=1)
    return Tokenizers(first, first if target is None else train_tokenizer(target, LINES[:150], seed=1))


def random_bundle(tokenizers: Tokenizers, changes: dict[str, object], seed: int = 0) -> Bundle:
    """A model of random weights; norms and biases too are away from where they start, and embeddings far apart."""
    config = TransformerConfig.model_validate({**BASE, "tie": "all" if tokenizers.joint else "decoder", **changes})
    torch.manual_seed(seed)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_((0.3 if parameter.dim() == 1 else 0.1) * torch.randn_like(parameter))
    return Bundle(model, tokenizers, {"model": to_tree(config), "search": SEARCH}, config)
