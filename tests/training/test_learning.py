"""Small models learn to copy and to reverse, through training, checkpoint and translation, on one core."""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from tests.training.toy import Log, held_out_loss

from heedful.data.batch import Batch, collate
from heedful.decoding.config import BeamSearch
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.tasks.table import task_of, translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.config import TrainingConfig
from heedful.training.loop import Trainer

LETTERS = "a b c d e f g h"


def strings(seed: int, count: int) -> list[list[str]]:
    chance = random.Random(seed)
    return [chance.choices(LETTERS.split(), k=chance.randint(3, 6)) for _ in range(count)]


def right_of_a_hundred(task: str, changes: Mapping[str, object], folder: Path, updates: int = 400) -> int:
    """Strings that were not in training, answered rightly after so many updates."""

    def answer(letters: list[str]) -> list[str]:
        return letters if task == "copy" else letters[::-1]

    words = TokenizerConfig(source=SideConfig(kind="words"))
    tokenizers = train_tokenizers(words, [(LETTERS, LETTERS)], seed=1)

    def batch_at(index: int) -> Batch:
        encode = tokenizers.source.encode
        pairs = [(encode(" ".join(s)), encode(" ".join(answer(s)))) for s in strings(index, 48)]
        return collate(pairs, range(48))

    shape = {"d_model": 48, "n_heads": 4, "d_ff": 96, "n_encoder_layers": 1, "n_decoder_layers": 1, "dropout": 0.0}
    config = TransformerConfig.model_validate({**shape, "norm": "pre", "activation": "relu", **changes})
    torch.manual_seed(1)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    steps = {"max_updates": updates, "warmup_steps": 40, "validate_every": updates}
    training = TrainingConfig.model_validate({"schedule": "linear", "learning_rate": 5e-3, **steps})
    objective, checkpoints = task_of(model).objective(training), CheckpointFolder(folder, 1)
    trainer = Trainer(model, objective, training, d_model=48, seed=1, checkpoints=checkpoints, log=Log([]))
    trainer.run(batch_at, held_out_loss)

    unseen = strings(-1, 100)
    found = translator_of(model, tokenizers, BeamSearch(beam=1)).translate([" ".join(s) for s in unseen])
    return sum(one.text == " ".join(answer(s)) for one, s in zip(found, unseen, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_learns(task: str, norm: str, tmp_path: Path) -> None:
    assert right_of_a_hundred(task, {"norm": norm}, tmp_path) >= 95


@pytest.mark.slow
@pytest.mark.parametrize("values", [False, True], ids=["keys", "keys and values"])
def test_reverses_by_vectors_of_distances(values: bool, tmp_path: Path) -> None:
    changes = {"positions": "relative", "relative_values": values, "n_encoder_layers": 2}
    assert right_of_a_hundred("reverse", changes, tmp_path) >= 95


@pytest.mark.slow
@pytest.mark.parametrize(("positions", "updates"), [("t5", 400), ("rotary", 400), ("alibi", 800)])
def test_reverses_by_distances(positions: str, updates: int, tmp_path: Path) -> None:
    """ALiBi takes longer: it tells an encoder how far a token is, but not on which side."""
    assert right_of_a_hundred("reverse", {"positions": positions, "n_encoder_layers": 2}, tmp_path, updates) >= 95


@pytest.mark.slow
def test_without_positions_letters_have_no_order(tmp_path: Path) -> None:
    """The encoder reads a set, so an order of it can only be guessed."""
    assert right_of_a_hundred("copy", {"positions": "none"}, tmp_path) <= 20
