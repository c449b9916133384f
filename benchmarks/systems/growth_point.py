"""One point of growth.py: argv[1] is JSON with what to do and its size; prints seconds a repetition and memory.

Memory is what the process had at most, less what it had before the work began.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import peak_mb
from step import random_batch, time_updates

from heedful.attention import Mask, attend, fused_attention, scaled_dot
from heedful.data.batch import BatchPlan, load_batch
from heedful.data.corpus import Pair
from heedful.data.store import build_store, open_store
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

asked = json.loads(sys.argv[1])
torch.set_num_threads(asked["threads"])
REPEATS = asked["repeats"]


def attention(path: str) -> list[float]:
    """Forward and backward of one attention over [B H T E], causal."""
    sizes = (asked["rows"], asked["n_heads"], asked["length"], asked["d_model"] // asked["n_heads"])
    query, key, value = (torch.randn(sizes, requires_grad=True) for _ in range(3))
    mask = Mask.causal(asked["length"], asked["length"], offset=0)

    def once() -> None:
        if path == "explicit":
            attend(query, key, value, score=scaled_dot, mask=mask).context.sum().backward()
        else:
            fused_attention(query, key, value, mask=mask).context.sum().backward()

    return timed(once)


def step() -> list[float]:
    """Whole updates of the Trainer."""
    batch = random_batch(asked["rows"], asked["length"], asked["vocabulary"])
    with tempfile.TemporaryDirectory() as scratch:
        device = torch.device("cpu")
        return time_updates(
            asked, batch, precision=asked["precision"], device=device, updates=REPEATS, scratch=Path(scratch)
        ).seconds


def pairs() -> list[Pair]:
    """Made-up pairs: 5 to 20 words, the frequent ones frequent as in Zipf's law."""
    rng = np.random.default_rng(1)
    ranks = np.arange(1, 5001)
    words = [f"{'aeiou'[r % 5]}{'bdfgklmnprst'[r % 12]}{r:x}" for r in ranks]
    drawn = rng.choice(words, size=(asked["pairs"], 2, 20), p=1 / ranks / (1 / ranks).sum())
    ends = rng.integers(5, 21, asked["pairs"])
    return [Pair(" ".join(a[:end]), " ".join(b[:end])) for (a, b), end in zip(drawn, ends, strict=True)]


def prepare() -> list[float]:
    """Training a tokeniser of 2,000 subwords on the corpus, and encoding it into a store."""
    corpus = pairs()
    tokenizer = TokenizerConfig(source=SideConfig(algorithm="bpe", vocab_size=2000))

    def once() -> None:
        with tempfile.TemporaryDirectory() as scratch:
            build_store(Path(scratch) / "store", corpus, train_tokenizers(tokenizer, corpus, seed=1), max_length=256)

    return timed(once)


def read() -> list[float]:
    """Opening a store and loading a whole epoch of batches."""
    corpus = pairs()
    tokenizers = train_tokenizers(TokenizerConfig(source=SideConfig(kind="words", vocab_size=2000)), corpus, seed=1)
    with tempfile.TemporaryDirectory() as scratch:
        build_store(Path(scratch) / "store", corpus, tokenizers, max_length=256)

        def once() -> None:
            store = open_store(Path(scratch) / "store")
            plan = BatchPlan(store.source_lengths, store.target_lengths, 4096, seed=1)
            for numbers in plan.epoch(0):
                load_batch(store, numbers)

        return timed(once)


def timed(once: Callable[[], None]) -> list[float]:
    """Seconds of each repetition, after one that warms up."""
    seconds = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        once()
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


WORK: dict[str, Callable[[], list[float]]] = {
    "explicit": lambda: attention("explicit"),
    "fused": lambda: attention("fused"),
    "step": step,
    "prepare": prepare,
    "read": read,
}
before = peak_mb()
found = WORK[asked["work"]]()
print(json.dumps({"seconds": found, "memory_mb": max(peak_mb() - before, 0.1)}))
