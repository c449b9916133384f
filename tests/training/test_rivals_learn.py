"""Each kind of model learns to reverse short strings on one core; Bahdanau's attention finds the true alignment."""

import random
from pathlib import Path

import pytest
import torch
from tests.training.learning import learn
from tests.training.toy import held_out_loss

from heedful.data.batch import Batch, collate
from heedful.decoding.config import BeamSearch
from heedful.decoding.translator import Translator
from heedful.models.config import ModelConfig
from heedful.models.convs2s_config import ConvS2SConfig
from heedful.models.kinds import build_model
from heedful.models.rnn_config import RNNConfig
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

LETTERS = "a b c d e f g h"
_SIZES: dict[str, object] = {"d_model": 32, "d_hidden": 64, "tie": "all", "dropout": 0.0}
KINDS: dict[str, ModelConfig] = {
    "bahdanau": RNNConfig.model_validate({**_SIZES, "attention": "bahdanau"}),
    "luong": RNNConfig.model_validate({**_SIZES, "attention": "luong", "cell": "lstm", "input_feeding": True}),
    "convs2s": ConvS2SConfig.model_validate({**_SIZES, "n_encoder_layers": 2, "n_decoder_layers": 2}),
}


def strings(seed: int, count: int) -> list[list[str]]:
    chance = random.Random(seed)
    return [chance.choices(LETTERS.split(), k=chance.randint(3, 6)) for _ in range(count)]


def reverser(config: ModelConfig, folder: Path) -> Translator:
    """A model trained to reverse strings."""
    words = TokenizerConfig(source=SideConfig(kind="words"))
    tokenizers = train_tokenizers(words, [(LETTERS, LETTERS)], seed=1)

    def batch_at(index: int) -> Batch:
        encode = tokenizers.source.encode
        pairs = [(encode(" ".join(s)), encode(" ".join(s[::-1]))) for s in strings(index, 48)]
        return collate(pairs, range(48))

    torch.manual_seed(1)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    settings = {"learning_rate": 5e-3, "warmup_steps": 40, "max_updates": 400, "clip_norm": 1.0}
    learn(model, batch_at, folder, settings, held_out_loss)
    return translator_of(model, tokenizers, BeamSearch(beam=1))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_learns(kind: str, tmp_path: Path) -> None:
    """Bahdanau's weights lie on the letter that is written: the last one first. [spec C5]"""
    translator = reverser(KINDS[kind], tmp_path)
    unseen = strings(-1, 100)
    found = translator.translate([" ".join(s) for s in unseen])
    right = sum(one.text == " ".join(s[::-1]) for one, s in zip(found, unseen, strict=True))
    assert right >= 95
    if kind == "bahdanau":
        aligned = [_aligned(translator, letters) for letters in unseen[:40]]
        assert sum(hits for hits, _ in aligned) / sum(letters for _, letters in aligned) >= 0.95


def _aligned(translator: Translator, letters: list[str]) -> tuple[int, int]:
    """How many letters are written while the most is read of their own source letter, and how many there are."""
    weights = translator.trace(" ".join(letters), " ".join(letters[::-1])).map("decoder.0.cross").weights[0]
    n = len(letters)
    return int((weights[:n].argmax(dim=1) == torch.arange(n - 1, -1, -1)).sum()), n
