"""Training side by side: the same batches, sizes, dropout, smoothing, learning rates and clipping everywhere.

Two sizes with a joint vocabulary of 8,000 and batches of about 3,450 target tokens of Multi30k en-de: small (3+3
layers, d_model 256) and the paper's base (6+6, 512). Systems run in turn, round after round, each in a process of its
own; every round has another seed, so that the losses after the same updates can be compared.

    python benchmarks/training.py [--data PATH/multi30k] [--rounds 3] [--sizes small base]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from batches import lengths_of, made_up_batches, write_batches
from environments import python_of
from flops import Sizes, training_flops
from measure import HERE, SYSTEMS, alternate, child, data_folder, pin, ratios, spread
from rows import Row, text_table

SIZES: dict[str, dict[str, Any]] = {
    "small": {"d_model": 256, "d_ff": 1024, "n_heads": 4, "n_layers": 3, "updates": 24},
    "base": {"d_model": 512, "d_ff": 2048, "n_heads": 8, "n_layers": 6, "updates": 3},
}
TITLES = {"small": "3+3 layers, d 256", "base": "paper-base: 6+6 layers, d 512"}
SHARED = {"dropout": 0.1, "smoothing": 0.1, "peak_rate": 1e-3, "warmup": 20, "clip_norm": 1.0}
VOCABULARY, MAX_TOKENS, WARM = 8000, 4096, 2

# name: environment ("" is Heedful's own), program, its argument
PROGRAMS: dict[str, tuple[str, str, str]] = {
    "Heedful, bfloat16": ("", "heedful_loop.py", "bfloat16"),
    "Heedful, float32": ("", "heedful_loop.py", "float32"),
    "torch.nn.Transformer loop": ("", "torch_loop.py", "float32"),
    "torch.nn.Transformer loop, trimmed, bfloat16": ("", "torch_loop.py", "trimmed"),
    "Hugging Face Marian": ("main", "marian_loop.py", ""),
    "x-transformers, flash": ("main", "xtransformers_loop.py", ""),
    "fairseq": ("fairseq", "fairseq_loop.py", ""),
    "Eole (pre-norm)": ("eole", "eole_loop.py", ""),
    "Marian C++ (its own batches)": ("marian", "marian_cpp_loop.py", ""),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data_folder(parser)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--systems", nargs="+", default=list(PROGRAMS), choices=PROGRAMS)
    parser.add_argument("--updates", type=int, help="timed updates, after two that are not; left out: 24 small, 3 base")
    arguments = parser.parse_args()
    pin(arguments.threads)
    changes = {"updates": arguments.updates} if arguments.updates else {}
    chosen = {name: {**SIZES[name], **changes} for name in arguments.sizes}
    with tempfile.TemporaryDirectory() as scratch:
        count = max(sizes["updates"] for sizes in chosen.values()) + WARM
        batches = write_batches(arguments.data, Path(scratch), count, MAX_TOKENS, VOCABULARY)
        part = run(batches, chosen, arguments.systems, arguments.rounds, arguments.threads)
    print(text_table([Row(*row) for row in part["rows"]]))


def run(
    batches: Path, sizes: Mapping[str, Mapping[str, Any]], systems: Sequence[str], rounds: int, threads: int
) -> dict[str, Any]:
    """Rows and details of all sizes, ready for JSON."""
    rows: list[Row] = []
    details: dict[str, Any] = {}
    rates = [child([sys.executable, str(HERE / "machine.py"), str(threads)], threads) for _ in range(rounds)]
    for kind in rates[0]:
        group = f"Matrix products of this machine, {threads} threads (GFLOP/s)"
        rows.append(Row(group, kind, spread([rate[kind] for rate in rates])))
    for name, shape in sizes.items():

        def measure(system: str, number: int, shape: Mapping[str, Any] = shape) -> dict[str, Any]:
            facts = {"vocabulary": VOCABULARY, **SHARED, **shape, "threads": threads, "seed": number + 1}
            return time_system(system, batches, facts)

        found, dropped = alternate(systems, rounds, measure)
        rows += rows_of(name, found, rates, flops_of(batches, shape))
        details[name] = {"rounds": found, "dropped": dropped, "settings": {**SHARED, **shape}}
    return {"rows": rows, "details": {**details, "matmul_gflops": rates}}


def time_system(system: str, batches: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """One system's round, in a process of its own."""
    environment, program, option = PROGRAMS[system]
    python = python_of(environment) if environment else sys.executable
    command = [python, str(SYSTEMS / program), str(batches), json.dumps(dict(facts)), option]
    return child(command, facts["threads"])


def flops_of(batches: Path, shape: Mapping[str, Any]) -> float:
    """Operations of all timed updates together."""
    sizes = Sizes(shape["d_model"], shape["d_ff"], shape["n_layers"], shape.get("vocabulary", VOCABULARY))
    timed = lengths_of(batches, range(WARM, shape["updates"] + WARM))
    return sum(training_flops(sizes, lengths.source, lengths.target) for lengths in timed)


def rows_of(
    size: str, found: Mapping[str, list[dict[str, Any]]], rates: Sequence[Mapping[str, float]], flops: float
) -> list[Row]:
    """Speed, memory and loss of every system; ratios are to the first one, in whose favour more than 1 is."""
    if not found:
        return []
    first = next(iter(found))
    speeds = {name: [one["tokens_per_second"] for one in rounds] for name, rounds in found.items()}
    rows = []
    for name, rounds in found.items():
        peak, before = (max(one[key] for one in rounds) for key in ("peak_mb", "imported_mb"))
        note = f"peak {peak:,.0f} MB, {before:,.0f} of it imports; loss {end_loss(rounds)}"
        if name.startswith("Heedful"):
            kind = name.rsplit(", ", 1)[1]
            fractions = [flops / one["seconds"] / 1e9 / rate[kind] for one, rate in zip(rounds, rates, strict=True)]
            note += f"; {spread(fractions).median:.0%} of the machine's {kind} rate"
        group = f"Training, {TITLES.get(size, size)} (target tokens/s; ratio: {first} / system)"
        rows.append(Row(group, name, spread(speeds[name]), ratios(speeds[first], speeds[name]), note))
    return rows


def end_loss(rounds: Sequence[Mapping[str, Any]]) -> str:
    """Smoothed loss a token over the last fifth of the updates, smallest and largest of the seeds."""
    means = []
    for one in rounds:
        last = one["losses"][-max(1, len(one["losses"]) // 5) :]
        means.append(sum(last) / len(last))
    return f"{min(means):.3f} to {max(means):.3f}"


def quick(folder: Path) -> dict[str, Any]:
    """The same with tiny sizes, made-up batches and no peers from elsewhere."""
    sizes = {"tiny": {"d_model": 32, "d_ff": 64, "n_heads": 2, "n_layers": 1, "updates": 3, "vocabulary": 100}}
    batches = made_up_batches(folder, 5, rows=8, length=9, vocabulary=100)
    return run(batches, sizes, ["Heedful, float32", "torch.nn.Transformer loop"], rounds=1, threads=1)


if __name__ == "__main__":
    main()
