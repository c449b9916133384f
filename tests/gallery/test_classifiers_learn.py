"""Poolings learn where to look, in seconds, on little tasks whose places are known."""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from tests.training.learning import learn

from heedful.data.batch import Batch, collate
from heedful.decoding.config import BeamSearch
from heedful.decoding.translator import Translator
from heedful.gallery.pooling.config import PoolingConfig
from heedful.gallery.pooling.evidence import glimpses, overlap_of_rows, planted_words
from heedful.recipe.tables import build_model
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

FILLERS = [f"f{number}" for number in range(12)]
KEYWORDS = {"p1": "red", "p2": "red", "q1": "blue", "q2": "blue", "r1": "green", "r2": "green"}
SMALL: dict[str, object] = {"d_model": 16, "dropout": 0.0}


class Text(NamedTuple):
    source: str
    label: str
    places: list[int]


def one_keyword(chance: random.Random) -> Text:
    """Fillers and one keyword, which has a class."""
    words = chance.choices(FILLERS, k=chance.randint(4, 8))
    place = chance.randrange(len(words) + 1)
    keyword = chance.choice(list(KEYWORDS))
    return Text(" ".join([*words[:place], keyword, *words[place:]]), KEYWORDS[keyword], [place])


def majority(chance: random.Random) -> Text:
    """Fillers and one keyword, or three of which two have one class: that of most is the label.

    Were there always three, one class could be told without seeing its keywords.
    """
    classes = ["red", "blue", "green"]
    label = chance.choice(classes)
    labels = chance.choice([[label], [label, label, chance.choice(classes)]])
    words = chance.choices(FILLERS, k=chance.randint(4, 8))
    places = sorted(chance.sample(range(len(words) + len(labels)), len(labels)))
    for place, of in zip(places, labels, strict=True):
        words.insert(place, chance.choice([word for word, its in KEYWORDS.items() if its == of]))
    return Text(" ".join(words), label, places)


def trained(
    settings: Mapping[str, object], draw: Callable[[random.Random], Text], updates: int, folder: Path
) -> Translator:
    """A classifier of texts that are drawn anew for each batch."""
    words = TokenizerConfig(joint=False, source=SideConfig(kind="words"), target=SideConfig(kind="words"))
    known = " ".join([*FILLERS, *KEYWORDS])
    tokenizers = train_tokenizers(words, [(known, "red blue green")], seed=1)

    def batch_at(index: int) -> Batch:
        chance = random.Random(index)
        texts = [draw(chance) for _ in range(48)]
        pairs = [(tokenizers.source.encode(text.source), tokenizers.target.encode(text.label)) for text in texts]
        return collate(pairs, range(48))

    torch.manual_seed(1)
    config = PoolingConfig.model_validate({**SMALL, **settings})
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    rate = {"learning_rate": 0.02, "label_smoothing": 0.0, "warmup_steps": 20}
    learn(model, batch_at, folder, {**rate, "max_updates": updates})
    return translator_of(model, tokenizers, BeamSearch())


def unseen(draw: Callable[[random.Random], Text]) -> list[Text]:
    chance = random.Random("unseen")
    return [draw(chance) for _ in range(60)]


def accuracy(translator: Translator, texts: Sequence[Text]) -> float:
    found = translator.translate([text.source for text in texts])
    return sum(one.text == text.label for one, text in zip(found, texts, strict=True)) / len(texts)


@pytest.mark.slow
def test_keywords_are_found(tmp_path: Path) -> None:
    """The chosen words are the planted ones, which the first words are not. [spec D4]"""
    texts = unseen(majority)
    translator = trained(
        {"encoder": "none", "pooling": "keywords", "n_words": 3, "d_attention": 16}, majority, 1200, tmp_path / "a"
    )
    assert accuracy(translator, texts) >= 0.9
    three = [(text.source, text.places) for text in texts if len(text.places) == 3]
    assert planted_words(translator, three)["f1"] >= 80
    first = trained({"encoder": "none", "pooling": "first-n", "n_words": 3}, majority, 300, tmp_path / "b")
    assert accuracy(first, texts) < 0.8


@pytest.mark.slow
def test_reward_teaches_where_to_look(tmp_path: Path) -> None:
    """Of one word that is read, and drawn in training. [spec D2]"""
    texts = unseen(one_keyword)
    translator = trained({"encoder": "none", "pooling": "hard", "d_attention": 16}, one_keyword, 300, tmp_path)
    assert accuracy(translator, texts) >= 0.9
    assert glimpses(translator, [(text.source, text.places[0]) for text in texts])["hit@1"] >= 90


@pytest.mark.slow
def test_the_penalty_parts_the_rows(tmp_path: Path) -> None:
    """[spec D10]"""
    overlaps = []
    for weight in (0.0, 1.0):
        settings = {"encoder": "none", "pooling": "structured", "d_attention": 16, "rows": 3, "overlap_weight": weight}
        translator = trained(settings, majority, 200, tmp_path / str(weight))
        overlaps.append(overlap_of_rows(translator, [text.source for text in unseen(majority)])["overlap"])
    assert overlaps[1] < overlaps[0] - 20
