"""HAN, ESIM and CMLA learn little tasks on one core, and their attention lies where the answer is decided."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from tests.training.learning import learn

from heedful.data.batch import Batch, collate
from heedful.decoding.config import BeamSearch
from heedful.decoding.translator import Translator
from heedful.gallery.coupled.config import CoupledConfig
from heedful.gallery.esim.config import InferenceConfig
from heedful.gallery.hierarchical.config import HierarchicalConfig
from heedful.gallery.hierarchical.evidence import aligned_words, decisive_sentence_hits
from heedful.models.config import ModelConfig
from heedful.recipe.tables import build_model
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

ROWS = 32


class Item(NamedTuple):
    source: str
    target: str
    known: list[tuple[int, int]]  # (place that is read, place that reads)


def document(chance: random.Random) -> Item:
    """Three or four sentences; the one with an x has the mood of the whole."""
    moods = chance.choices(["good", "bad"], k=chance.randint(3, 4))
    decisive = chance.randrange(len(moods))
    sentences = [[mood, "x" if k == decisive else "y", *chance.choices("abc", k=2)] for k, mood in enumerate(moods)]
    for sentence in sentences:
        chance.shuffle(sentence)
    return Item(" ||| ".join(map(" ".join, sentences)), moods[decisive], [(decisive, 0)])


def pair(chance: random.Random) -> Item:
    """Each word of the hypothesis stands in the premise, or one of them does not."""
    premise = chance.sample("abcdefgh", 4)
    places = chance.sample(range(4), 2)
    hypothesis = [premise[place] for place in places]
    links = [(place, 5 + k) for k, place in enumerate(places)]
    if chance.random() < 0.5:
        return Item(" ".join([*premise, "|||", *hypothesis]), "yes", links)
    hypothesis[chance.randrange(2)] = chance.choice([word for word in "abcdefgh" if word not in premise])
    return Item(" ".join([*premise, "|||", *hypothesis]), "no", [])


def review(chance: random.Random) -> Item:
    """Nouns are targets only where the clause has an adjective, which is an expression."""
    words, tags = [], []
    for _ in range(chance.randint(1, 3)):
        judged = chance.random() < 0.5
        words += ["the", chance.choice("abcd"), "is", chance.choice("mnop") if judged else chance.choice("wxyz")]
        tags += ["O", "B-target" if judged else "O", "O", "B-expression" if judged else "O"]
    return Item(" ".join(words), " ".join(tags), [])


_SIZES: dict[str, object] = {"d_model": 16, "d_hidden": 32, "dropout": 0.0}
TASKS: dict[str, tuple[ModelConfig, Callable[[random.Random], Item], int]] = {
    "hierarchical": (
        HierarchicalConfig.model_validate({**_SIZES, "reading": "hierarchical", "d_attention": 32}),
        document,
        200,
    ),
    "inference": (InferenceConfig.model_validate(_SIZES), pair, 600),
    "coupled": (CoupledConfig.model_validate({**_SIZES, "n_forms": 8, "penalty": 0.01}), review, 250),
}


def learned(config: ModelConfig, item: Callable[[random.Random], Item], n_updates: int, folder: Path) -> Translator:
    """A model trained on items drawn anew for each batch."""
    some = [item(random.Random(f"vocabulary {k}")) for k in range(200)]
    settings = TokenizerConfig(
        joint=False, source=SideConfig(kind="words", separator="|||"), target=SideConfig(kind="words")
    )
    tokenizers = train_tokenizers(settings, [(one.source, one.target) for one in some], seed=1)

    def batch_at(index: int) -> Batch:
        items = [item(random.Random(f"{index} {row}")) for row in range(ROWS)]
        pairs = [(tokenizers.source.encode(one.source), tokenizers.target.encode(one.target)) for one in items]
        return collate(pairs, range(ROWS))

    torch.manual_seed(1)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    rate = {"learning_rate": 3e-3, "label_smoothing": 0.0, "warmup_steps": 20, "clip_norm": 1.0}
    learn(model, batch_at, folder, {**rate, "max_updates": n_updates})
    return translator_of(model, tokenizers, BeamSearch())


@pytest.mark.slow
@pytest.mark.parametrize("kind", TASKS)
def test_learns(kind: str, tmp_path: Path) -> None:
    config, item, n_updates = TASKS[kind]
    translator = learned(config, item, n_updates, tmp_path)
    unseen = [item(random.Random(f"unseen {k}")) for k in range(100)]
    found = translator.translate([one.source for one in unseen])
    assert sum(output.text == one.target for output, one in zip(found, unseen, strict=True)) >= 97
    if kind == "hierarchical":  # chance is 29; a neighbour may be read instead, to which the sentences' GRU carried it
        known = [(one.source, one.known[0][0]) for one in unseen]
        assert decisive_sentence_hits(translator, known)["hit@1"] >= 60
    if kind == "inference":
        assert aligned_words(translator, [(one.source, one.known) for one in unseen])["accuracy"] >= 90
