"""Readers and memory networks learn where people are, and read the sentence that says so."""

import random
from pathlib import Path

import pytest
import torch
from tests.training.learning import learn

from heedful.data.batch import Batch, collate
from heedful.decoding.config import BeamSearch
from heedful.decoding.translator import Translator
from heedful.gallery.reading.config import MemoryConfig, ReaderConfig
from heedful.gallery.reading.evidence import supporting_fact_hits
from heedful.models.config import ModelConfig
from heedful.recipe.tables import build_model
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

PEOPLE, PLACES = ("ann", "bob", "cy"), ("garden", "hall", "kitchen", "office")
WORDS = SideConfig(kind="words", separator="|||")
UPDATES, ROWS = 300, 32

KINDS: dict[str, ModelConfig] = {
    "over": ReaderConfig(attention="over", d_model=16, d_hidden=32, dropout=0.0),
    "sum": ReaderConfig(attention="sum", d_model=16, d_hidden=32, dropout=0.0),
    "memory": MemoryConfig(d_model=16, n_hops=2, empty_slots=0.1),
    "key-value": MemoryConfig(d_model=16, n_hops=1, values="last-word"),
}


def story(chance: random.Random) -> tuple[str, str, int]:
    """Two to five moves and a question; where the person is, and the sentence that says so."""
    moves = [(chance.choice(PEOPLE), chance.choice(PLACES)) for _ in range(chance.randint(2, 5))]
    asked = chance.choice([person for person, _ in moves])
    last = max(number for number, (person, _) in enumerate(moves) if person == asked)
    told = [f"{person} went to the {place}" for person, place in moves]
    return " ||| ".join([*told, f"where is {asked}"]), moves[last][1], last


def learned(config: ModelConfig, folder: Path) -> Translator:
    """A model trained on stories drawn anew for each batch."""
    pairs = [story(random.Random(f"vocabulary {number}"))[:2] for number in range(100)]
    tokenizers = train_tokenizers(TokenizerConfig(joint=config.one_vocabulary, source=WORDS), pairs, seed=1)

    def batch_at(index: int) -> Batch:
        some = [story(random.Random(f"{index} {row}")) for row in range(ROWS)]
        ids = [(tokenizers.source.encode(one[0]), tokenizers.target.encode(one[1])) for one in some]
        return collate(ids, range(ROWS))

    torch.manual_seed(1)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    rate = {"learning_rate": 1e-2, "label_smoothing": 0.0, "warmup_steps": 20, "clip_norm": 1.0}
    learn(model, batch_at, folder, {**rate, "max_updates": UPDATES})
    return translator_of(model, tokenizers, BeamSearch())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_learns(kind: str, tmp_path: Path) -> None:
    translator = learned(KINDS[kind], tmp_path)
    unseen = [story(random.Random(f"unseen {number}")) for number in range(100)]
    found = translator.translate([source for source, _, _ in unseen])
    assert sum(output.text == answer for output, (_, answer, _) in zip(found, unseen, strict=True)) >= 95
    facts = supporting_fact_hits(translator, [(source, [fact]) for source, _, fact in unseen])
    assert facts["facts found"] >= 90
    assert facts["chance"] < 40
