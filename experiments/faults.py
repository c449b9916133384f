"""Break things on purpose: flip bytes of every file of a run, and kill every verb before every file operation.

    python experiments/faults.py [--flips 200] [--kills N] [--only flips train average ...] [--keep]

A tiny run is trained in a temporary folder. Of each of its files, its bundle's too, random single bytes are flipped one
at a time, and what reads the file must refuse it, make it anew and say so, or give the same answer. Each verb that
writes is killed before each of its file operations (or N of them); then whoever reads must be told of the old model or
of the new one, the next call must go on, and what it leaves must be what an undisturbed call leaves: no file more or
less. With `--keep` the result is written into experiments/faults/, in place of the same parts of the last one.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: processes are forked, and the models are tiny

from faults_flips import Flips, flip_files
from faults_kills import Kills, kill_everywhere, verbs
from faults_world import finished_run

FLIPS = "flips"
VERBS = (
    "train",
    "train --resume",
    "average",
    "evaluate",
    "shortlist",
    "export",
    "data split",
    "data get --to",
)
FOLDER = Path(__file__).parent / "faults"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", type=int, default=200, help="flips of each file")
    parser.add_argument("--kills", type=int, help="kills of each verb; left out: before every operation")
    parser.add_argument("--only", nargs="+", choices=[FLIPS, *VERBS], default=[FLIPS, *VERBS], metavar="PART")
    parser.add_argument("--keep", action="store_true", help="write experiments/faults/result.json and table.md")
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        world = Path(scratch)
        flips = flipped(world / "flips", asked.flips) if FLIPS in asked.only else []
        kills = killed(world / "kills", asked.kills, asked.only) if set(VERBS) & set(asked.only) else []
    result = {
        "command": "python experiments/faults.py --keep",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "seconds": round(time.monotonic() - began),
        "flips": [one._asdict() for one in flips],
        "kills": [one._asdict() for one in kills],
    }
    if asked.keep:
        FOLDER.mkdir(exist_ok=True)
        result = with_last(result)
        (FOLDER / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        (FOLDER / "table.md").write_text(table(result), encoding="utf-8")
    print(table(result))
    return int(faults(result) > 0)


def flipped(world: Path, flips: int) -> list[Flips]:
    """Flip bytes of every file of a finished run."""
    found = []
    for one in flip_files(finished_run(world / "data", world / "run"), flips):
        print(one, file=sys.stderr)
        found.append(one)
    return found


def killed(world: Path, kills: int | None, only: Sequence[str] = VERBS) -> list[Kills]:
    """Kill every verb, or these."""
    found = []
    for verb in verbs(world):
        if verb.name in only:
            found.append(kill_everywhere(verb, world, kills))
            print(found[-1], file=sys.stderr)
    return found


def with_last(result: dict[str, Any]) -> dict[str, Any]:
    """A result with the parts of the last one that were not tried again."""
    if not (FOLDER / "result.json").is_file():
        return result
    last = json.loads((FOLDER / "result.json").read_text("utf-8"))
    kills = {one["verb"]: one for one in (*last["kills"], *result["kills"])}
    known = [kills[name] for name in VERBS if name in kills]
    seconds = last["seconds"] + result["seconds"]
    return {**result, "flips": result["flips"] or last["flips"], "kills": known, "seconds": seconds}


def faults(result: dict[str, Any]) -> int:
    """Count what must not be: other answers without a word, errors that are no messages, and faults after a kill."""
    return sum(one["silent"] + one["crashed"] for one in result["flips"]) + sum(
        len(one["faults"]) for one in result["kills"]
    )


def table(result: dict[str, Any]) -> str:
    """The result as two tables in Markdown."""
    flips = _rows(result["flips"], ("file", "flips", "refused", "mended", "same", "silent", "crashed"))
    kills = [{**one, "faults": len(one["faults"])} for one in result["kills"]]
    parts = [
        "# Faults on purpose",
        f"`{result['command']}` on {result['machine']}: {result['seconds']} s, {faults(result)} faults.",
        "Single bytes flipped at random, and what became of it: an error that names the file; made anew, and said; the "
        "same answer; another answer without a word; an error that is no message.",
        flips,
        "Verbs killed before each of their file operations, and what was wrong afterwards.",
        _rows(kills, ("verb", "operations", "killed", "faults", "seconds")),
    ]
    wrong = [f"- {one['verb']}: {fault}" for one in result["kills"] for fault in one["faults"]]
    return "\n\n".join([*parts, *(["\n".join(wrong)] if wrong else [])]) + "\n"


def _rows(records: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    lines = [names, ["---"] * len(names), *([str(record[name]) for name in names] for record in records)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
