"""The rows of results.csv: one number each, with everything that is needed to trust or repeat it.

Does not know how a number was measured.
"""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from heedful.errors import HeedfulError
from heedful.records.files import EDITED, write_lines


class Result(NamedTuple):
    """One measured number.

    `ci_low` and `ci_high` bound its 95 % interval (None where none was drawn); `n` counts its items;
    `signature` is `heedful.records.signature.Signature` as text; `chosen` marks the checkpoint that became the bundle.
    """

    run: str
    seed: int
    split: str
    metric: str
    value: float
    ci_low: float | None
    ci_high: float | None
    n: int
    signature: str
    checkpoint: str
    decode: str
    seconds: float
    update: int
    chosen: bool

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """Identity of the measurement: measured again, the newer row replaces the older."""
        return self.split, self.metric, self.decode, self.checkpoint, self.update


def merge_results(old: Iterable[Result], new: Iterable[Result]) -> list[Result]:
    """Merge rows: the old ones without those measured again, then the new ones; the last row of a
    metric is the newest.
    """
    latest = {row.key: row for row in new}
    return [*(row for row in old if row.key not in latest), *latest.values()]


def write_results_file(path: Path, rows: Iterable[Result]) -> None:
    """Write results.csv. Floats keep all their digits, so that reading gives the same numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Result._fields)
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    write_lines(path, text.getvalue().splitlines())


def read_results_file(path: Path) -> list[Result]:
    """Read results.csv. Raises HeedfulError with the line where a row is not as `write_results_file` writes it."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != Result._fields:
            raise HeedfulError(
                f"{path}:1 does not have the columns of a results file.", hint=f"They are: {', '.join(Result._fields)}."
            )
        return [_parse(row, f"{path}:{reader.line_num}") for row in reader]


def _parse(row: dict[str, str], place: str) -> Result:
    try:
        return Result(
            run=row["run"],
            seed=int(row["seed"]),
            split=row["split"],
            metric=row["metric"],
            value=float(row["value"]),
            ci_low=float(row["ci_low"]) if row["ci_low"] else None,
            ci_high=float(row["ci_high"]) if row["ci_high"] else None,
            n=int(row["n"]),
            signature=row["signature"],
            checkpoint=row["checkpoint"],
            decode=row["decode"],
            seconds=float(row["seconds"]),
            update=int(row["update"]),
            chosen={"True": True, "False": False}[row["chosen"]],
        )
    except (ValueError, TypeError, KeyError):
        raise HeedfulError(f"{place}: not a row of results.", hint=EDITED) from None
