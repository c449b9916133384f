"""Models for the tests of exports: random ones of every kind, and one that has learnt to write letters large."""

import random
from collections.abc import Mapping
from pathlib import Path

import torch
from tests.pipeline.little import MEASURING, MODEL, TRAINING

from heedful.config import to_tree
from heedful.decoding.config import search_of, with_changes
from heedful.decoding.translator import Translator
from heedful.models.bundle import Bundle
from heedful.models.kinds import build_model
from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe
from heedful.tasks.table import translator_of
from heedful.text.tokenizer import train_tokenizers

PAIRS = [("abc de. fghi", "cba ed. ihgf"), ("jk <s> #", "kj </s> ▁"), ("ab </s> abc", "a\\n￨ <pad>")]
LINES = ["abc de", "", "k", "fghi. abc abc. de", "   ", "z", "jk jk", "e", "ab </s> #", "▁"]


def random_bundle(*changes: str, model: Mapping[str, object] | None = None) -> Bundle:
    """Random weights, norms and biases too, with sharp outputs, so that small errors do not change a text."""
    usual = ("tokenizer.source.kind=characters", "search.beam=4", "search.max_extra=5")
    settings = ("data.catalogue=reverse", *MODEL, *MEASURING, *usual, *changes)
    recipe = load_recipe(None, settings)
    tree = to_tree(recipe)
    tree["model"] |= model or {}
    recipe = recipe.model_copy(update={"model": recipe.model.model_validate(tree["model"])})
    tokenizers = train_tokenizers(recipe.tokenizer, PAIRS, seed=1)
    torch.manual_seed(1)
    made = build_model(recipe.model, len(tokenizers.source), len(tokenizers.target))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter)) if parameter.dim() == 1 else parameter.mul_(2)
    return Bundle(made.eval(), tokenizers, to_tree(recipe), recipe.model)


def native(bundle: Bundle, search: Mapping[str, object]) -> Translator:
    """The native engine with some settings of search changed."""
    settings = with_changes(search_of(bundle.recipe, "the bundle"), search)
    return translator_of(bundle.model, bundle.tokenizers, settings)


def letters(count: int, seed: int) -> list[str]:
    """Lines of one to six letters."""
    rng = random.Random(seed)
    return [" ".join(rng.choice("abcdef") for _ in range(rng.randint(1, 6))) for _ in range(count)]


def learned_run(folder: Path) -> Path:
    """A run of two seconds whose model writes about nine lines of ten in capitals, and ends its outputs."""
    folder.mkdir()
    settings = ["data.allow_overlap=true"]
    for seed, (split, count) in enumerate((("train", 400), ("dev", 40), ("test", 40))):
        path = folder / f"{split}.tsv"
        path.write_text("".join(f"{line}\t{line.upper()}\n" for line in letters(count, seed)))
        settings.append(f"data.{split}=['{path}']")
    changes = (
        "tokenizer.source.kind=words",
        "model.d_model=32",
        "model.norm=pre",
        "model.dropout=0",
        "training.accumulate=1",
        "training.max_tokens=256",
        "training.max_updates=300",
        "training.validate_every=100",
        "search.beam=4",
        "search.max_extra=50",
    )
    recipe = load_recipe(None, [*settings, *MODEL, *TRAINING, *MEASURING, *changes])
    return train(recipe, folder / "run").run
