"""Small models learn to copy and to reverse, through training, checkpoint and translation, on one core."""

import random
from pathlib import Path

import pytest
import torch
from tests.training.toy import Log, held_out_loss

from heedful.data.batch import Batch, collate
from heedful.decoding.config import SearchConfig
from heedful.decoding.translator import Translator
from heedful.models.config import TransformerConfig
from heedful.models.kinds import build_model
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.config import TrainingConfig
from heedful.training.loop import Trainer

LETTERS = "a b c d e f g h"


def strings(seed: int, count: int) -> list[list[str]]:
    chance = random.Random(seed)
    return [chance.choices(LETTERS.split(), k=chance.randint(3, 6)) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_learns(task: str, norm: str, tmp_path: Path) -> None:
    def answer(letters: list[str]) -> list[str]:
        return letters if task == "copy" else letters[::-1]

    words = TokenizerConfig(source=SideConfig(kind="words"))
    tokenizers = train_tokenizers(words, [(LETTERS, LETTERS)], seed=1)

    def batch_at(index: int) -> Batch:
        encode = tokenizers.source.encode
        pairs = [(encode(" ".join(s)), encode(" ".join(answer(s)))) for s in strings(index, 48)]
        return collate(pairs, range(48))

    shape = {"d_model": 48, "n_heads": 4, "d_ff": 96, "n_encoder_layers": 1, "n_decoder_layers": 1, "dropout": 0.0}
    config = TransformerConfig.model_validate({**shape, "norm": norm, "activation": "relu"})
    torch.manual_seed(1)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    updates = {"max_updates": 400, "warmup_steps": 40, "validate_every": 400}
    training = TrainingConfig.model_validate({"schedule": "linear", "learning_rate": 5e-3, **updates})
    trainer = Trainer(model, training, d_model=48, seed=1, checkpoints=CheckpointFolder(tmp_path, 1), log=Log([]))
    trainer.run(batch_at, held_out_loss)

    unseen = strings(-1, 100)
    found = Translator(model, tokenizers, SearchConfig(beam=1)).translate([" ".join(s) for s in unseen])
    right = sum(one.text == " ".join(answer(s)) for one, s in zip(found, unseen, strict=True))
    assert right >= 95
