"""Heedful trains, examines and ships encoder-decoder attention models on your own data.

The public names below are loaded when first used, so that `import heedful` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "attend": "heedful.attention",
    "load": "heedful.pipeline.load",
    "train": "heedful.pipeline.train",
}

__all__ = ["attend", "load", "train"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'heedful' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
