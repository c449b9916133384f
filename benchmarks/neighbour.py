"""Training beside a busy neighbour: tokens a second on an idle machine, beside a busy loop, beside another training.

Threads of one process wait for each other; how they wait decides what a neighbour costs. Each figure is the second
measurement of a process of its own; settings take turns, and ratios are taken within a round.

    python benchmarks/neighbour.py [--rounds 3] [--seconds 5] [--write]

Run it on a machine that does nothing else.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import HERE, Spread, call, ratios, say, spread

RESULT = HERE / "results" / "neighbour.json"
# As in the recipe cmudict: 3 + 3 layers of width 128, and about 2,048 target tokens of characters in an update.
SHAPE = {"d_model": 128, "d_ff": 512, "n_heads": 4, "n_layers": 3, "vocabulary": 80, "dropout": 0.1}
ROWS, LENGTH = 256, 8
SETTINGS: dict[str, tuple[int, dict[str, str]]] = {  # threads and environment
    "as heedful sets it": (2, {}),
    "libgomp's own": (2, {"GOMP_SPINCOUNT": "300000"}),
    "OMP_WAIT_POLICY=passive": (2, {"OMP_WAIT_POLICY": "passive"}),
    "one thread": (1, {}),
}
NEIGHBOURS = {"idle": "", "busy loop": "while True: pass", "another training": "train"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each of the two measurements of a process")
    parser.add_argument("--write", action="store_true", help=f"keep the result as {RESULT.relative_to(HERE)}")
    parser.add_argument("--child", nargs=2, metavar=("THREADS", "PRECISION"), help="train, in this process")
    arguments = parser.parse_args()
    if arguments.child:
        threads, precision = arguments.child
        print(json.dumps(train(int(threads), precision, arguments.seconds)))
        return
    found = measure(arguments.rounds, arguments.seconds)
    print(table(found))
    if arguments.write:
        RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measure(rounds: int, seconds: float) -> dict[str, dict[str, list[float]]]:
    """Measure each setting beside each neighbour: target tokens a second of every round."""
    found: dict[str, dict[str, list[float]]] = {name: {beside: [] for beside in NEIGHBOURS} for name in SETTINGS}
    for number in range(rounds):
        for beside in NEIGHBOURS:
            for name, (threads, environment) in SETTINGS.items():
                with neighbour(beside, seconds, threads, environment):
                    rate = json.loads(call(command(threads, "bfloat16", seconds), environment))
                found[name][beside].append(rate["tokens_per_second"])
                say(f"round {number + 1}: {name}, {beside}: {rate['tokens_per_second']:,.0f}")
    return found


def command(threads: int, precision: str, seconds: float) -> list[str]:
    """Return what trains in a process of its own."""
    program = str(Path(__file__).resolve())
    return [sys.executable, program, "--seconds", str(seconds), "--child", str(threads), precision]


@contextmanager
def neighbour(beside: str, seconds: float, threads: int, environment: Mapping[str, str]) -> Iterator[None]:
    """Keep the machine busy meanwhile; another training has the same setting, and float32."""

    if beside == "idle":
        yield
        return
    endless = command(threads, "float32", 100 * seconds)
    program = [sys.executable, "-c", NEIGHBOURS[beside]] if beside == "busy loop" else endless
    other = subprocess.Popen(program, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        other.kill()
        other.wait()


def train(threads: int, precision: str, seconds: float) -> dict[str, Any]:
    """Train for twice so many seconds, and measure the second half."""
    from heedful.training.config import TrainingConfig  # before torch: heedful says how its threads wait

    # isort: split
    import torch
    from step import random_batch, trainer_of

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    training = TrainingConfig(precision=precision, warmup_steps=100)  # pyright: ignore[reportArgumentType]
    batch, update = random_batch(ROWS, LENGTH, SHAPE["vocabulary"]), 0
    with tempfile.TemporaryDirectory() as scratch:
        trainer = trainer_of(SHAPE, training, Path(scratch), device=torch.device("cpu"))
        for _ in range(2):
            first, started = update, time.perf_counter()
            while time.perf_counter() - started < seconds:
                update += 1
                trainer.update(update, lambda _index: batch)
            rate = (update - first) * batch.n_target / (time.perf_counter() - started)
    return {"tokens_per_second": rate}


def table(found: Mapping[str, Mapping[str, list[float]]]) -> str:
    """Draw medians, and the two ratios that a default is chosen by."""
    lines = [f"{'':26}" + "".join(f"{name:>18}" for name in NEIGHBOURS)]
    for name, rates in found.items():
        lines.append(f"{name:26}" + "".join(f"{spread(rates[beside]).median:>18,.0f}" for beside in NEIGHBOURS))
    ours, usual, single = (found[name] for name in ("as heedful sets it", "libgomp's own", "one thread"))
    idle = ratios(ours["idle"], usual["idle"])
    beside = ratios(ours["busy loop"], single["busy loop"])
    lines.append(f"on an idle machine, to libgomp's own: {_shown(idle)} (aim: 0.97 or more)")
    lines.append(f"beside a busy loop, to one thread there: {_shown(beside)} (aim: 0.60 or more)")
    return "\n".join(lines)


def _shown(ratio: Spread) -> str:
    return f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


if __name__ == "__main__":
    main()
