"""A recipe so small that a whole run takes a second: made-up pairs, one narrow layer, sixty updates."""

from pathlib import Path

import torch

from heedful.config import to_tree
from heedful.datasets.synthetic import task_pairs
from heedful.models.bundle import Bundle, save_bundle
from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe
from heedful.recipe.tables import TASKS, build_model
from heedful.text.tokenizer import train_tokenizers

MODEL = (
    "model.d_model=16",
    "model.n_heads=2",
    "model.d_ff=16",
    "model.n_encoder_layers=1",
    "model.n_decoder_layers=1",
    "model.norm=post",
    "model.activation=relu",
    "model.dropout=0.1",
)
TRAINING = (
    "training.max_tokens=128",
    "training.accumulate=2",
    "training.schedule=linear",
    "training.learning_rate=0.01",
    "training.warmup_steps=10",
    "training.max_updates=60",
    "training.validate_every=10",
    "training.keep_last=3",
    "training.average_last=2",
    "training.log_every=5",
    "training.threads=1",
    "training.precision=float32",
)
MEASURING = (
    "search.beam=2",
    "search.max_extra=2",
    "evaluation.metrics=['exact', 'per']",
    "evaluation.dev_sentences=8",
    "evaluation.bootstrap_samples=20",
)
WORDS = ("tokenizer.source.kind=words",)
SUBWORDS = ("tokenizer.source.kind=sentencepiece", "tokenizer.source.vocab_size=40", "tokenizer.source.sampling=0.5")


def write_pairs(folder: Path, task: str = "reverse") -> list[str]:
    """Write train.tsv, dev.tsv and test.tsv, and return the settings that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = []
    for split, count in (("train", 200), ("dev", 12), ("test", 12)):
        path = folder / f"{split}.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in task_pairs(TASKS[task], 1, split, count)))
        settings.append(f"data.{split}=['{path}']")
    return settings


def little_settings(folder: Path, *changes: str) -> list[str]:
    """`key=value` settings of a whole little recipe whose data lie in the folder; later ones win."""
    return [*write_pairs(folder), *MODEL, *TRAINING, *MEASURING, *WORDS, *changes]


QUICK = (
    "training.accumulate=1",
    "training.max_updates=2",
    "training.warmup_steps=1",
    "training.validate_every=1",
    "training.log_every=1",
)


def little_run(folder: Path, *changes: str) -> Path:
    """Train a little model for two updates, and return its run directory."""
    settings = little_settings(folder / "data", *QUICK, *changes)
    return train(load_recipe(None, settings), folder / "run").run


def untrained_bundle(folder: Path, pairs: list[tuple[str, str]], *changes: str) -> Path:
    """A bundle of random weights whose tokenisers know these pairs."""
    settings = ("data.catalogue=reverse", *MODEL, *MEASURING, "tokenizer.source.kind=characters", *changes)
    recipe = load_recipe(None, settings)
    tokenizers = train_tokenizers(recipe.tokenizer, pairs, seed=1)
    torch.manual_seed(1)
    model = build_model(recipe.model, len(tokenizers.source), len(tokenizers.target))
    save_bundle(folder, Bundle(model, tokenizers, to_tree(recipe), recipe.model), "# Random weights\n")
    return folder
