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


def child(command: Sequence[str], threads: int, extra: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run a program that prints JSON on its last line, and return that. Raises ChildFailed."""
    counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    found = subprocess.run(
        list(command), capture_output=True, text=True, check=False, env={**os.environ, **counts, **(extra or {})}
    )
    if found.returncode != 0 or not found.stdout.strip():
        said = "\n".join((found.stdout + found.stderr).strip().splitlines()[-12:])
        raise ChildFailed(f"{' '.join(map(str, command[:3]))} ended with {found.returncode}:\n{said}")
    return json.loads(found.stdout.strip().splitlines()[-1])


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
