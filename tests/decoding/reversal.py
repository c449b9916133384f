"""A model that has learned to reverse letters, well enough to be sure of its outputs. Trained once a test run."""

import random
from collections.abc import Mapping
from functools import cache

import torch

from heedful.data.batch import collate
from heedful.decoding.config import BeamSearch, with_changes
from heedful.decoding.translator import Translator
from heedful.models.interface import Seq2Seq
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.tasks.table import compute_loss, translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizers
from heedful.training.config import TrainingConfig
from heedful.training.loop import build_optimizer

LETTERS = "a b c d e f g h"
TOKENIZERS: Tokenizers = train_tokenizers(
    TokenizerConfig(source=SideConfig(kind="words")), [(LETTERS, LETTERS)], seed=1
)
SHAPE: Mapping[str, object] = {
    "d_model": 48,
    "n_heads": 4,
    "d_ff": 96,
    "n_encoder_layers": 1,
    "n_decoder_layers": 2,
    "dropout": 0.0,
    "norm": "pre",
    "activation": "relu",
}


def lines(seed: int, count: int, longest: int = 12) -> list[str]:
    """Letters with blanks between."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(LETTERS.split(), k=chance.randint(1, longest))) for _ in range(count)]


@cache
def model() -> Seq2Seq:
    """A few hundred updates, a few seconds."""
    torch.manual_seed(1)
    made = build_model(TransformerConfig.model_validate(SHAPE), len(TOKENIZERS.source), len(TOKENIZERS.target)).train()
    training = TrainingConfig.model_validate({"schedule": "linear", "max_updates": 4000, "label_smoothing": 0.0})
    optimizer = build_optimizer(made, training)
    encode = TOKENIZERS.source.encode
    for update in range(350):
        pairs = [(encode(line), encode(line[::-1])) for line in lines(update, 64)]
        for group in optimizer.param_groups:
            group["lr"] = 4e-3 * min((update + 1) / 40, (350 - update) / 310)
        optimizer.zero_grad()
        loss = compute_loss(made, collate(pairs, range(len(pairs))), training)
        (loss.smoothed / loss.count).backward()
        torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0)
        optimizer.step()
    return made.eval()


def reverser(changes: Mapping[str, object] | None = None) -> Translator:
    """The trained model with some search settings changed."""
    return translator_of(model(), TOKENIZERS, with_changes(BeamSearch(beam=4), changes or {}))
