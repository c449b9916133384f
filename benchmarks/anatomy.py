"""Where the time of one training step goes: Heedful's own update in named parts, from torch's profiler.

Every operator's own time belongs to the innermost part around it: a module in the forward pass and, in the backward
pass, the module whose forward operator it differentiates (the two share a sequence number). Matrix products are told
apart from what stands beside them. What no part claims is listed as such, and so is Python's time between operators.

    python benchmarks/anatomy.py [--data PATH/multi30k] [--precision bfloat16] [--json FILE] [--trace FILE]
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from batches import lengths_of, write_batches
from flops import Sizes, training_flops
from machine import matmul_rate
from measure import data_folder, pin
from step import trainer_of
from torch import nn
from torch.profiler import profile, record_function

from heedful.attention import MultiHeadAttention
from heedful.data.batch import Batch
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.layers.sublayer import Sublayer
from heedful.models.transformer import Transformer
from heedful.training.config import TrainingConfig
from heedful.training.kernel_caches import bound_kernel_caches

SHAPE = Sizes(d_model=256, d_ff=1024, n_layers=3, vocabulary=8000)
MARK = "part: "
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm"}
MODULES: tuple[tuple[type[nn.Module], str], ...] = (
    (nn.Linear, "linear layers"),
    (MultiHeadAttention, "attention"),
    (nn.LayerNorm, "layer norm"),
    (nn.ReLU, "activation"),
    (Dropout, "dropout"),
    (Embedding, "embedding"),
    (Sublayer, "residual sum"),
    (Transformer, "model, other"),
)
PREFIXES = {"_ChunkedCrossEntropy": "output layer and loss", "Optimizer.": "optimiser"}
ADDED_UP = "AccumulateGrad"


class Anatomy(NamedTuple):
    """Seconds an update: of each part, split into products and the rest; and of the whole."""

    products: dict[str, float]
    rest: dict[str, float]
    python: float
    whole: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data_folder(parser)
    parser.add_argument("--precision", default="bfloat16", choices=("float32", "bfloat16"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("--trace", type=Path, help="keep the profiler's trace here, for a trace viewer")
    arguments = parser.parse_args()
    pin(arguments.threads)
    torch.set_num_threads(arguments.threads)
    bound_kernel_caches()
    with tempfile.TemporaryDirectory() as scratch:
        path = write_batches(arguments.data, Path(scratch), arguments.updates + 2, 4096, SHAPE.vocabulary)
        found = anatomy(path, arguments.precision, arguments.updates, arguments.trace)
        lengths = lengths_of(path, range(2, arguments.updates + 2))
    flops = sum(training_flops(SHAPE, *some) for some in lengths) / arguments.updates
    rate = matmul_rate(getattr(torch, arguments.precision))
    facts = {"precision": arguments.precision, "threads": arguments.threads, "gflop": flops / 1e9, "rate": rate / 1e9}
    print(table(found, flops, rate))
    if arguments.json:
        arguments.json.write_text(json.dumps({**facts, **found._asdict()}, indent=1) + "\n")


def anatomy(batches: Path, precision: str, updates: int, trace: Path | None) -> Anatomy:
    """Profile so many updates, after two that warm up."""
    arrays = np.load(batches)
    torch.manual_seed(1)
    shape = {**SHAPE._asdict(), "n_heads": 4}
    training = TrainingConfig(precision=precision, label_smoothing=0.1, warmup_steps=100)  # pyright: ignore[reportArgumentType]
    with tempfile.TemporaryDirectory() as scratch:
        trainer = trainer_of(shape, training, Path(scratch), device=torch.device("cpu"))

        def update(number: int) -> None:
            src, tgt_in, tgt_out = (torch.from_numpy(arrays[f"{n}{number}"]) for n in ("src", "tgt_in", "tgt_out"))
            batch = Batch(src, src != 0, tgt_in, tgt_out, indices=[])
            trainer.update(number + 1, lambda _index: batch)

        with parts_marked(trainer.model):
            for number in range(2):
                update(number)
            with profile() as profiler:
                for number in range(2, updates + 2):
                    update(number)
    if trace:
        profiler.export_chrome_trace(str(trace))
    return dissect(list(profiler.events() or []), updates)


@contextmanager
def parts_marked(model: nn.Module) -> Iterator[None]:
    """While this lasts, every forward pass of a module in MODULES is a range of the profile."""
    open_ranges: list[Any] = []

    def enter(part: str) -> None:
        open_ranges.append(record_function(MARK + part).__enter__())

    def leave() -> None:
        open_ranges.pop().__exit__(None, None, None)

    handles = []
    for module in model.modules():
        for kind, part in MODULES:
            if isinstance(module, kind):
                handles.append(module.register_forward_pre_hook(lambda _m, _x, part=part: enter(part)))
                handles.append(module.register_forward_hook(lambda _m, _x, _y: leave()))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def dissect(events: list[Any], updates: int) -> Anatomy:
    """Give each operator's own time to a part."""
    of_sequence: dict[int, str] = {}
    for event in events:
        if event.sequence_nr >= 0 and not backward_node(event) and (part := marked_part(event)):
            of_sequence[event.sequence_nr] = part
    products, rest = Counter(), Counter()
    operators = [event for event in events if event.name.startswith("aten::") or event.name[0] == "_"]
    for event in operators:
        seconds = event.self_cpu_time_total / 1e6 / updates
        (products if event.name in PRODUCTS else rest)[part_of(event, of_sequence)] += seconds
    start, end = min(e.time_range.start for e in events), max(e.time_range.end for e in events)
    whole = (end - start) / 1e6 / updates
    return Anatomy(dict(products), dict(rest), whole - sum(products.values()) - sum(rest.values()), whole)


def marked_part(event: Any) -> str | None:
    """The innermost part around an operator of the forward pass or the optimiser."""
    while event is not None:
        if event.name.startswith(MARK):
            return event.name.removeprefix(MARK)
        for prefix, part in PREFIXES.items():
            if event.name.startswith(prefix):
                return part
        event = event.cpu_parent
    return None


def backward_node(event: Any) -> Any:
    """The backward pass's node around an operator, if there is one."""
    while event is not None and not event.name.startswith("autograd::engine"):
        event = event.cpu_parent
    return event


def part_of(event: Any, of_sequence: dict[int, str]) -> str:
    """The part of an operator; in the backward pass, that of the forward operator which it differentiates."""
    if part := marked_part(event):
        return part
    node = backward_node(event)
    if node is None:
        return "clipping, checks and sums"
    if ADDED_UP in node.name:
        return "adding up gradients"
    return of_sequence.get(node.sequence_nr, f"unclaimed: {node.name.split(': ')[-1]}")


def table(found: Anatomy, flops: float, rate: float) -> str:
    """The parts, largest first, in milliseconds an update and per cent of the whole."""
    parts = sorted(
        found.products.keys() | found.rest.keys(), key=lambda p: -(found.products.get(p, 0) + found.rest.get(p, 0))
    )
    lines = [f"{'part':34}{'products':>10}{'rest':>10}{'share':>9}   (ms an update)"]
    for part in parts:
        one, other = found.products.get(part, 0.0), found.rest.get(part, 0.0)
        lines.append(f"{part:34}{one * 1e3:10.1f}{other * 1e3:10.1f}{(one + other) / found.whole:9.1%}")
    lines.append(f"{'between operators (Python)':34}{'':10}{found.python * 1e3:10.1f}{found.python / found.whole:9.1%}")
    lines.append(f"{'whole':34}{'':10}{found.whole * 1e3:10.1f}")
    unclaimed = sum(found.rest.get(p, 0) + found.products.get(p, 0) for p in parts if p.startswith("unclaimed"))
    lines.append(f"named parts: {1 - unclaimed / found.whole:.1%} of the time")
    ideal = flops / rate
    lines.append(
        f"{flops / 1e9:.0f} GFLOP at {rate / 1e9:.0f} GFLOP/s need {ideal * 1e3:.0f} ms: {ideal / found.whole:.0%}"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
