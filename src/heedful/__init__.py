"""Heedful trains, examines and ships encoder-decoder attention models on your own data.

The public names below, and those of `heedful.attention`, are what a program may use; docs/python.md shows each.
They are loaded when first used, so that `import heedful` costs nothing.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Threads of torch's OpenMP wait for each other by spinning: 300,000 turns, if nobody says. Beside one other busy
# process that makes training three times slower, and beside another training far more; 2,000 turns cost nothing on an
# idle machine (benchmarks/neighbour.py). The setting is read when torch is first imported, so it stands here.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")


if TYPE_CHECKING:
    from heedful.attention import Mask, MultiHeadAttention, attend
    from heedful.data.corpus import Pair, read_pairs
    from heedful.decoding.config import BeamSearch, MBRSearch, SampleSearch
    from heedful.decoding.translator import Translator
    from heedful.errors import CheckFailed, ConfigError, HeedfulError, Interrupted
    from heedful.evaluation.pairing import compare
    from heedful.evaluation.score import score_outputs
    from heedful.pipeline.evaluate import evaluate
    from heedful.pipeline.export import export_model
    from heedful.pipeline.load import load
    from heedful.pipeline.report import report_run
    from heedful.pipeline.train import train
    from heedful.recipe.recipe import Recipe, load_recipe
    from heedful.records.run import Run

__version__ = "0.1.0"

__all__ = [
    "BeamSearch",
    "CheckFailed",
    "ConfigError",
    "HeedfulError",
    "Interrupted",
    "MBRSearch",
    "Mask",
    "MultiHeadAttention",
    "Pair",
    "Recipe",
    "Run",
    "SampleSearch",
    "Translator",
    "attend",
    "compare",
    "evaluate",
    "export_model",
    "load",
    "load_recipe",
    "read_pairs",
    "report_run",
    "score_outputs",
    "train",
]

_HOMES = {
    "attention": ("Mask", "MultiHeadAttention", "attend"),
    "data.corpus": ("Pair", "read_pairs"),
    "decoding.config": ("BeamSearch", "MBRSearch", "SampleSearch"),
    "decoding.translator": ("Translator",),
    "errors": ("CheckFailed", "ConfigError", "HeedfulError", "Interrupted"),
    "evaluation.pairing": ("compare",),
    "evaluation.score": ("score_outputs",),
    "pipeline.evaluate": ("evaluate",),
    "pipeline.export": ("export_model",),
    "pipeline.load": ("load",),
    "pipeline.report": ("report_run",),
    "pipeline.train": ("train",),
    "recipe.recipe": ("Recipe", "load_recipe"),
    "records.run": ("Run",),
}


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'heedful' has no attribute {name!r}")
    return getattr(import_module(f"heedful.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
