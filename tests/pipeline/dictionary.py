"""A small pronouncing dictionary in the format of CMUdict, and the demonstration's recipe made small for it."""

import random
from pathlib import Path
from typing import Any

import pytest

from heedful.pipeline import demo as demonstration
from heedful.pipeline.speed import PrecisionBenchmark

PHONES = {"a": "AE1", "b": "B", "d": "D", "i": "IH1", "k": "K", "l": "L", "o": "OW0", "s": "S", "t": "T"}


def shrink_demo(folder: Path, monkeypatch: pytest.MonkeyPatch, max_updates: int = 60) -> None:
    """Let the demonstration read a few hundred made-up words, train a little model, and not measure the machine."""
    chance = random.Random(1)
    words = sorted({"".join(chance.choices(list(PHONES), k=chance.randint(2, 6))) for _ in range(500)})
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{word} {' '.join(PHONES[letter] for letter in word)}\n" for word in words]
    (folder / "cmudict.dict").write_text("".join(lines))
    recipe: dict[str, Any] = dict(demonstration.RECIPE)
    small = {"d_model": 32, "n_heads": 2, "d_ff": 32, "n_encoder_layers": 1, "n_decoder_layers": 1}
    recipe["data"] = {**recipe["data"], "folder": str(folder)}
    recipe["model"] = {**recipe.get("model", {}), **small}
    recipe["training"] = {**recipe["training"], "max_tokens": 256, "threads": 1}
    recipe["evaluation"] = {**recipe["evaluation"], "dev_sentences": 8, "bootstrap_samples": 20}
    monkeypatch.setattr(demonstration, "RECIPE", recipe)
    measured = PrecisionBenchmark("float32", 0.001, max_updates)
    monkeypatch.setattr(demonstration, "benchmark_precisions", lambda *_arguments: measured)
