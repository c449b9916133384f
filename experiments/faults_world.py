"""A run so small that everything can be done to it a thousand times: made-up pairs, one narrow layer, a few updates."""

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from heedful.cli.app import app
from heedful.pipeline.average import average_run
from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe

SIZES = (("train", 40), ("dev", 6), ("test", 6))
SETTINGS = (
    "tokenizer.source.kind=characters",
    "model.d_model=16",
    "model.n_heads=2",
    "model.d_ff=16",
    "model.n_encoder_layers=1",
    "model.n_decoder_layers=1",
    "model.norm=post",
    "model.activation=relu",
    "training.max_tokens=64",
    "training.schedule=linear",
    "training.learning_rate=0.01",
    "training.warmup_steps=2",
    "training.max_updates=6",
    "training.validate_every=2",
    "training.keep_last=2",
    "training.average_last=0",
    "training.log_every=1",
    "training.threads=1",
    "training.precision=float32",
    "search.beam=2",
    "search.max_extra=2",
    "evaluation.metrics=['cer', 'exact']",
    "evaluation.dev_sentences=4",
    "evaluation.bootstrap_samples=10",
)
LINES = ["abc", "d", "ecba", "bbd"]  # what a model is asked


def write_pairs(folder: Path) -> list[str]:
    """Write train.tsv, dev.tsv and test.tsv, and return the settings that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    chance, seen = random.Random(1), set()
    settings = []
    for split, count in SIZES:
        lines: list[str] = []
        while len(lines) < count:
            word = "".join(chance.choices("abcde", k=chance.randint(2, 7)))
            if word not in seen:
                seen.add(word)
                lines.append(f"{word}\t{word[::-1]}\n")
        (folder / f"{split}.tsv").write_text("".join(lines))
        settings.append(f"data.{split}=['{folder / f'{split}.tsv'}']")
    return settings


def settings_in(folder: Path) -> list[str]:
    """Return the settings of a recipe whose data lie in a folder."""
    return [*write_pairs(folder), *SETTINGS]


def finished_run(data: Path, folder: Path) -> Path:
    """Train a run to its end, and make its model the mean of its last checkpoints, so that there is another one."""
    run = train(load_recipe(None, settings_in(data)), folder).run
    average_run(run, 2, force=True)
    return run


def call(arguments: Sequence[str]) -> int:
    """Run a command of heedful in this process, and return its exit code."""
    try:
        app(args=list(arguments), prog_name="heedful")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    return 0


def silence() -> None:
    """Send what this process prints away."""
    away = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    sys.stderr.flush()
    for number in (1, 2):
        os.dup2(away, number)
