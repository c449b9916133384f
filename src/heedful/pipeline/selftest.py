"""Two short proofs that this build of torch trains: both attention paths agree, and a small model learns.

Knows no files and no recipe.
"""

import random
import time
from collections.abc import Iterator
from typing import NamedTuple

import torch

from heedful.attention import Mask, attend, fused_attention, scaled_dot
from heedful.data.batch import Batch, collate
from heedful.models.transformer_config import TransformerConfig
from heedful.recipe.tables import build_model
from heedful.tasks.table import compute_loss
from heedful.text.vocabulary import EOS
from heedful.training.config import TrainingConfig
from heedful.training.loop import build_optimizer

SYMBOLS = 12
FIRST_SYMBOL = EOS + 1


class ShortTraining(NamedTuple):
    """Result of a short training; losses are means over a batch's target tokens, in nats."""

    first_loss: float
    last_loss: float
    seconds: float
    tokens_per_second: float


def paths_agree() -> float:
    """Return the largest difference between fused and explicit attention, over contexts and the
    gradients of queries.
    """
    generator = torch.Generator().manual_seed(1)
    shape = (2, 4, 24, 16)
    query, key, value = (torch.randn(shape, generator=generator) for _ in range(3))
    mask = Mask.causal(24, 24, offset=0)
    found = []
    for path in ("fused", "explicit"):
        leaf = query.clone().requires_grad_()
        if path == "fused":
            context = fused_attention(leaf, key, value, mask=mask).context
        else:
            context = attend(leaf, key, value, score=scaled_dot, mask=mask).context
        (gradient,) = torch.autograd.grad(context.square().sum(), leaf)
        found.append((context.detach(), gradient))
    return max(float((fused - explicit).abs().max()) for fused, explicit in zip(*found, strict=True))


def train_briefly(seconds: float) -> ShortTraining:
    """Train a small Transformer for so long to reverse strings, on its own random numbers."""
    config = TransformerConfig(
        d_model=64, n_heads=4, d_ff=128, n_encoder_layers=1, n_decoder_layers=1, norm="pre", activation="relu"
    )
    training = TrainingConfig(label_smoothing=0.0, schedule="linear", learning_rate=3e-3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = build_model(config, FIRST_SYMBOL + SYMBOLS, FIRST_SYMBOL + SYMBOLS)
        optimizer = build_optimizer(model, training)
        losses, tokens = [], 0
        started = time.perf_counter()
        for batch in _reversals():
            loss = compute_loss(model, batch, training)
            optimizer.zero_grad()
            (loss.smoothed / loss.count).backward()
            optimizer.step()
            losses.append(float(loss.nll) / loss.count)
            tokens += loss.count
            elapsed = time.perf_counter() - started
            if elapsed >= seconds:
                break
    return ShortTraining(losses[0], losses[-1], elapsed, tokens / elapsed)


def _reversals() -> Iterator[Batch]:
    """Yield endless batches of 64 strings of 4 to 8 symbols, each with its reversal."""
    chance = random.Random(1)
    symbols = range(FIRST_SYMBOL, FIRST_SYMBOL + SYMBOLS)
    while True:
        strings = [chance.choices(symbols, k=chance.randint(4, 8)) for _ in range(64)]
        yield collate([(string, string[::-1]) for string in strings], list(range(64)))
