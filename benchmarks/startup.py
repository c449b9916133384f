"""From a cold shell to an output: seconds of a whole process, and how much of them is the import of torch.

Files are in the page cache, nothing else is warm. `--model` names a bundle; left out, one of toy size is made.

    python benchmarks/startup.py [--model MODEL] [--rounds 7]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environments import python_of
from little import little_bundle
from measure import pin, ratios, spread
from rows import Row, text_table

GROUP = "Start-up of a process (seconds; ratio: this / heedful translate)"
LINE = "a man walks his dog\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    pin(arguments.threads)
    with tempfile.TemporaryDirectory() as scratch:
        model = arguments.model or little_bundle(Path(scratch) / "model")
        part = run(model, arguments.rounds, peers=True)
    print(text_table(part["rows"]))


def run(model: Path, rounds: int, *, peers: bool) -> dict[str, Any]:
    """Rows and details, ready for JSON."""
    heedful = [sys.executable, "-m", "heedful.cli.app"]
    commands = {
        "heedful translate, one line": [*heedful, "translate", str(model)],
        "heedful --help": [*heedful, "--help"],
        "python -c 'import torch'": [sys.executable, "-c", "import torch"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    if peers:
        imports = "from transformers import MarianMTModel, MarianTokenizer"
        commands["python -c 'from transformers import MarianMTModel'"] = [python_of("main"), "-c", imports]
        commands["python -c 'import ctranslate2'"] = [python_of("main"), "-c", "import ctranslate2"]
    for command in commands.values():  # fills the page cache and writes .pyc files
        seconds_of(command)
    found: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(seconds_of(command))
    whole = found["heedful translate, one line"]
    rows = [Row(GROUP, name, spread(times), ratios(times, whole), "") for name, times in found.items()]
    share = ratios(found["python -c 'import torch'"], whole).median
    rows[0] = rows[0]._replace(note=f"{share:.0%} of it is the import of torch")
    return {"rows": rows, "details": {"seconds": found}}


def seconds_of(command: Sequence[str]) -> float:
    """Wall time of one process that is given one line on standard input."""
    started = time.perf_counter()
    done = subprocess.run(
        list(command), input=LINE, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )
    seconds = time.perf_counter() - started
    if done.returncode != 0 or ("translate" in command and not done.stdout.strip()):
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-1000:]}")
    return seconds


if __name__ == "__main__":
    main()
