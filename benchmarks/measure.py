"""Rounds, children and spreads: how every figure of this folder is taken. Knows no system and no task.

Systems take turns, round after round, each in a process of its own on the same cores; a ratio is taken within a round.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CACHE = HERE / "cache"  # trained models and prepared data; ignored by git
SYSTEMS = HERE / "systems"


class Spread(NamedTuple):
    """Smallest, middle and largest of the rounds."""

    low: float
    median: float
    high: float


class ChildFailed(Exception):
    """A measured program did not end well; the message holds the end of what it said."""


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    return Spread(min(values), statistics.median(values), max(values))


def ratios(above: Sequence[float], below: Sequence[float]) -> Spread:
    """The spread of above / below, taken round by round."""
    return spread([a / b for a, b in zip(above, below, strict=True)])


def pin(threads: int) -> None:
    """Keep this process and all that it starts on the first `threads` cores that it may use."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def child(command: Sequence[str], threads: int) -> dict[str, Any]:
    """Run a program that prints JSON on its last line, and return that. Raises ChildFailed."""
    counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    lines = call(command, counts).strip().splitlines()
    if not lines:
        raise ChildFailed(f"{_named(command)} said nothing.")
    return json.loads(lines[-1])


def call(command: Sequence[str], changes: Mapping[str, str] | None = None) -> str:
    """Run a program, with some environment variables changed, and return what it printed. Raises ChildFailed."""
    environment = {**os.environ, **(changes or {})}
    done = subprocess.run(list(command), capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise ChildFailed(f"{_named(command)} ended with {done.returncode}:\n{_without_places(said)}")
    return done.stdout


def short_reason(failure: str) -> str:
    """The line of a failure that says most: the last that speaks of an error, else the last of all."""
    lines = failure.strip().splitlines()
    return next((line.strip() for line in reversed(lines) if "rror" in line and "Traceback" not in line), lines[-1])


def _named(command: Sequence[str]) -> str:
    return " ".join(Path(word).name for word in command[1:4] if not word.startswith("{"))


def _without_places(text: str) -> str:
    """Without the folders of this machine, for results that are kept."""
    for place, word in ((ROOT, "."), (sys.prefix, "PYTHON"), (Path(sys.base_prefix), "PYTHON"), (Path.home(), "~")):
        text = text.replace(str(place), word)
    return text


def say(text: str) -> None:
    """Progress, to standard error."""
    print(text, file=sys.stderr, flush=True)


def alternate(
    names: Sequence[str], rounds: int, measure: Callable[[str, int], Mapping[str, Any]]
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Measure every name once a round, in turn; every second round goes backwards.

    Returns what was found by name, a list of rounds each, and why a name was dropped: a system that fails once is left
    out of the rest, and the reason is kept, never hidden.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    dropped: dict[str, str] = {}
    for number in range(rounds):
        for name in names if number % 2 == 0 else list(reversed(names)):
            if name in dropped:
                continue
            try:
                found[name].append(dict(measure(name, number)))
            except ChildFailed as error:
                dropped[name] = str(error)
                say(f"{name} is dropped: {error}")
    return {name: those for name, those in found.items() if len(those) == rounds}, dropped


def peak_mb() -> float:
    """The largest resident memory that this program had, in 10^6 bytes.

    From the high-water mark of its own address space: `ru_maxrss` would count the parent's at the fork as well.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024 / 1e6


def data_folder(parser: argparse.ArgumentParser) -> None:
    """Add `--data`; left out, the copy beside the checkout is taken, or the data is downloaded where there is none."""
    beside = ROOT.parent / "shared" / "data" / "multi30k"
    shown = "a folder with Multi30k's raw/train.en.gz and so on; left out: ../shared/data/multi30k, or a download"
    parser.add_argument("--data", default=str(beside) if beside.exists() else "", help=shown)
