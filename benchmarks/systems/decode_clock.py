"""What the timed decoders share: the same text in, the same text out, with the model's own tokeniser on both ends.

A decoder is given texts and gives texts back, so that tokenising is counted for everybody, and loading for nobody.
Batches hold 64 sentences of like length. Needs no torch.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heedful.text.tokenizer import load_tokenizers

PAD, UNK, BOS, EOS = 0, 1, 2, 3
EXTRA = 50  # an output has at most source tokens + 50

Translate = Callable[[Sequence[str]], list[str]]
Texts = Sequence[str]


class Asked(NamedTuple):
    """What `decoding.py` passed."""

    bundle: str  # Heedful's own
    export: str  # the folder of an export, or a bundle
    lines: str  # a file, one sentence a line
    texts: str  # where the outputs go
    beam: int
    batch: int  # 0: all at once, the decoder batches by itself
    latency: int  # so many sentences one by one, after the timed run
    threads: int
    options: dict[str, Any]


def asked() -> Asked:
    """From the command line."""
    return Asked(**json.loads(sys.argv[1]))


def tokenizers_of(found: Asked) -> Any:
    """The tokenisers of the model that all decode."""
    return load_tokenizers(Path(found.bundle))


def report(found: Asked, translate: Translate) -> None:
    """Warm up on one batch, time all lines and single ones, and print one line of JSON."""
    lines = Path(found.lines).read_text("utf-8").splitlines()
    translate(lines[: max(found.batch, 16)])
    started = time.perf_counter()
    texts = in_batches(lines, found.batch, translate)
    seconds = time.perf_counter() - started
    Path(found.texts).write_text("".join(f"{text}\n" for text in texts), "utf-8")
    latencies = []
    for line in lines[: found.latency]:
        begun = time.perf_counter()
        translate([line])
        latencies.append((time.perf_counter() - begun) * 1e3)
    print(json.dumps({"sentences_per_second": len(lines) / seconds, "latencies_ms": latencies}))


def in_batches(lines: Texts, size: int, translate: Translate) -> list[str]:
    """Outputs in the order of `lines`, translated in batches of lines with as many words; 0 is one batch."""
    if not size:
        return translate(lines)
    order = sorted(range(len(lines)), key=lambda number: (len(lines[number].split()), number), reverse=True)
    texts = [""] * len(lines)
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        for number, text in zip(numbers, translate([lines[n] for n in numbers]), strict=True):
            texts[number] = text
    return texts
