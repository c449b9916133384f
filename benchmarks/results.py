"""What `benchmarks/run` keeps: one JSON file of finished parts, written anew after each of them.

A part is {"rows": [...], "details": {...}} with the date and the seconds it took; the machine stands beside the parts.
"""

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import HERE, Spread
from rows import Row

TIME_TO_BLEU = HERE / "results" / "time_to_bleu.json"  # kept by time_to_bleu.py, which takes too long to be a part


class Results:
    """The parts of one file; what an earlier run has finished stays there until it is measured again."""

    def __init__(self, path: Path, machine: Mapping[str, Any]) -> None:
        self.path = path
        kept = json.loads(path.read_text()) if path.exists() else {}
        self.parts: dict[str, Any] = kept.get("parts", {})
        self.unfinished: list[str] = kept.get("unfinished", [])
        self.machine = dict(machine)

    def begin(self, parts: Sequence[str]) -> None:
        """Note what is going to be measured, so that a resumption knows what is left."""
        self.unfinished = list(parts)
        self._write()

    def keep(self, part: str, found: Mapping[str, Any], seconds: float) -> None:
        """A part is finished."""
        date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self.parts[part] = {"date": date, "seconds": round(seconds, 1), "machine": self.machine, **found}
        self.unfinished = [name for name in self.unfinished if name != part]
        self._write()

    def rows(self, order: Sequence[str]) -> list[Row]:
        """The rows of all finished parts, in the order given."""
        return [row_of(row) for part in order if part in self.parts for row in self.parts[part]["rows"]]

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".partial")
        text = json.dumps({"machine": self.machine, "unfinished": self.unfinished, "parts": self.parts}, indent=1)
        beside.write_text(text + "\n")
        os.replace(beside, self.path)


def row_of(kept: Sequence[Any]) -> Row:
    """A row as it was, from JSON's lists."""
    group, system, figure, ratio, note = kept
    return Row(group, system, Spread(*figure), None if ratio is None else Spread(*ratio), note)


def stored_rows(path: Path) -> list[Row]:
    """Return the rows of the last run of time_to_bleu.py; none where there was none."""
    return [row_of(row) for row in json.loads(path.read_text())["rows"]] if path.exists() else []


def between_marks(text: str, name: str, inside: str) -> str:
    """`text` with what stands between <!-- name --> and <!-- /name --> replaced. Raises ValueError without these."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise ValueError(f"The text must hold {start} and {end} once each, in this order.")
    before, rest = text.split(start)
    return f"{before}{start}\n{inside.strip()}\n{end}{rest.split(end)[1]}"
