"""Batches for the training benchmarks, as one .npz file: the first of an epoch of Multi30k en-de, or made-up ones."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from heedful.data.batch import BatchPlan, load_batch
from heedful.data.config import DataConfig
from heedful.data.store import build_store
from heedful.recipe.splits import load_split
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers


class Lengths(NamedTuple):
    """Tokens of each sentence of one batch, EOS included."""

    source: list[int]
    target: list[int]


def write_batches(data: str, folder: Path, count: int, max_tokens: int, vocabulary: int) -> Path:
    """The first `count` batches of at most `max_tokens` padded tokens a side, with a joint BPE vocabulary."""
    config = DataConfig(catalogue="multi30k-en-de", folder=data or None)
    side = SideConfig(algorithm="bpe", vocab_size=vocabulary)
    tokenizers = train_tokenizers(TokenizerConfig(source=side), load_split(config, "train"), seed=1)
    store = build_store(folder / "store", load_split(config, "train"), tokenizers, max_length=256)
    plan = BatchPlan(store.source_lengths, store.target_lengths, max_tokens, seed=1)
    arrays: dict[str, np.ndarray] = {}
    for number in range(count):
        batch = load_batch(store, plan.batch(number))
        for name in ("src", "tgt_in", "tgt_out"):
            arrays[f"{name}{number}"] = getattr(batch, name).numpy()
    path = folder / "batches.npz"
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
    return path


def made_up_batches(folder: Path, count: int, rows: int, length: int, vocabulary: int) -> Path:
    """Batches of random ids, for smoke tests that need no data: `rows` sentences of 2 to `length` tokens."""
    rng = np.random.default_rng(1)
    arrays: dict[str, np.ndarray] = {}
    for number in range(count):
        ids = rng.integers(4, vocabulary, (2, rows, length))
        for side, ends in enumerate(rng.integers(2, length + 1, (2, rows))):
            ids[side][np.arange(length) >= ends[:, None]] = 0
        arrays[f"src{number}"] = ids[0]
        arrays[f"tgt_out{number}"] = ids[1]
        arrays[f"tgt_in{number}"] = np.where(ids[1] == 0, 0, np.roll(ids[1], 1, axis=1))
        arrays[f"tgt_in{number}"][:, 0] = 2
    path = folder / "batches.npz"
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
    return path


def lengths_of(path: Path, numbers: range) -> list[Lengths]:
    """The lengths in these batches."""
    arrays = np.load(path)
    return [Lengths(*([*(arrays[f"{name}{n}"] != 0).sum(1).tolist()] for name in ("src", "tgt_out"))) for n in numbers]
