"""What a model put out for each item of a split, kept so that runs can be compared without being run again.

Does not know metrics: it keeps the texts from which every metric can be counted.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from heedful.errors import HeedfulError
from heedful.records.files import read_json_lines, to_json, write_lines


class Output(NamedTuple):
    """One item: its source, every right target, and what the model wrote with its log-probability score.

    `tokenised_*` hold the texts of a published tokenised protocol; None where the evaluation asked for no such score.
    """

    id: str
    source: str
    references: list[str]
    output: str
    score: float
    tokenised_output: str | None = None
    tokenised_references: list[str] | None = None


def write_outputs_file(path: Path, rows: Iterable[Output]) -> None:
    """Write one JSON line an item."""
    write_lines(path, (to_json({k: v for k, v in row._asdict().items() if v is not None}) for row in rows))


def read_outputs_file(path: Path) -> list[Output]:
    """Read what `write_outputs_file` wrote. Raises HeedfulError with the line where a key is missing or unknown."""
    rows = []
    for number, record in enumerate(read_json_lines(path), start=1):
        try:
            row = Output(**record)
        except TypeError:
            raise HeedfulError(
                f"{path}:{number} is not a stored output.", hint=f"Its keys are: {', '.join(Output._fields)}."
            ) from None
        rows.append(row._replace(score=float(row.score)))
    return rows
