"""Tables of pairs, each format by the ending of its file: what reads one gives (source, target), row by row.

A new format is a function here, or in a file beside, and its line in `FORMATS`.
"""

import csv
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from heedful.data.headers import other_names
from heedful.data.json_lines import parse_json, require_whole
from heedful.data.lines import read_lines
from heedful.data.parquet import parquet_rows
from heedful.errors import ConfigError, HeedfulError

Row = tuple[str, str]  # a source text and its target text, one line each
USUAL_COLUMNS = ("source", "target")
LONGEST_FIELD = 1 << 28  # characters; the csv module's own limit is 131,072


class _Fields(NamedTuple):
    line: int  # in the file, from 1
    fields: list[str]


def _tsv_rows(path: Path) -> Iterator[_Fields]:
    """Split lines at tabs; there are no quotes. Blank lines hold no pair."""
    return (_Fields(number, line.split("\t")) for number, line in enumerate(read_lines(path), start=1) if line.strip())


def _csv_rows(path: Path) -> Iterator[_Fields]:
    """Split lines at commas; fields may be quoted. Blank lines hold no pair."""
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader((line + "\n" for line in read_lines(path)), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            hint = 'A field with commas, quotes or line breaks stands in "quotes", and a quote inside it is doubled.'
            raise HeedfulError(f"{path}:{line}: not valid CSV: {error}.", hint=hint) from None
        if fields is None:
            return
        if fields:
            yield _Fields(line, fields)


def _columns(rows: Iterator[_Fields], path: Path, source_column: str, target_column: str) -> Iterator[Row]:
    """Select the two columns of a table."""
    first = next(rows, None)
    if first is None:
        return
    source, target, header = _places(first, path, source_column, target_column)
    for row in rows if header else chain([first], rows):
        if len(row.fields) <= max(source, target):
            wanted = f"column {max(source, target) + 1} is needed"
            hint = "Does a tab (or, in a .csv, a comma) stand between source and target?"
            raise HeedfulError(f"{path}:{row.line}: {len(row.fields)} column(s), but {wanted}.", hint=hint)
        yield _one_line(row.fields[source]), _one_line(row.fields[target])


def _places(first: _Fields, path: Path, source_column: str, target_column: str) -> tuple[int, int, bool]:
    """Return the indices of the columns, from 0, and whether the first row is a header."""
    names = [name.strip() for name in first.fields]
    if source_column in names and target_column in names:
        return names.index(source_column), names.index(target_column), True
    places = _number(source_column), _number(target_column)
    if places[0] is not None and places[1] is not None:
        return places[0] - 1, places[1] - 1, False
    if not path.name.lower().removesuffix(".gz").endswith(".csv") and (source_column, target_column) == USUAL_COLUMNS:
        if other_names(names):
            message = (
                f"{path}:{first.line}: this looks like a header that names no source and target: {', '.join(names)}."
            )
            hint = "Set `source_column` and `target_column` to two of these names; to 1 and 2, if it is a pair."
            raise ConfigError(message, hint=hint)
        return 0, 1, False
    wanted = f"`{source_column}` and `{target_column}`"
    hint = "Set `source_column` and `target_column` to names of the header, or to numbers from 1 where there is none."
    raise ConfigError(f"{path}:{first.line}: no columns {wanted}; there are: {', '.join(names)[:200]}.", hint=hint)


def _number(column: str) -> int | None:
    """Return the number of a column from 1, if it is given by one."""
    return int(column) if column.isdecimal() and len(column) < 10 and int(column) > 0 else None


def _jsonl(path: Path, source_key: str, target_key: str) -> Iterator[Row]:
    """Read one JSON object a line. Blank lines hold no pair."""
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            record = parse_json(line, f"{path}:{number}", "One object a line.")
            source, target = (_text_of(record, key, f"{path}:{number}") for key in (source_key, target_key))
            yield source, target


def _text_of(record: object, key: str, place: str) -> str:
    """Return the text under a key of a JSON object."""
    if not isinstance(record, dict):
        raise HeedfulError(f"{place}: not a JSON object but {record!r:.80}.", hint="One object a line.")
    if not isinstance(text := record.get(key), str):
        found = f"there are: {', '.join(record)[:200]}" if key not in record else f"its value is {text!r:.80}"
        hint = "Set `source_column` and `target_column` to the keys of the two texts."
        raise HeedfulError(f"{place}: no text under the key `{key}`; {found}.", hint=hint)
    return _one_line(require_whole(text, f"{place}: `{key}`"))


def _one_line(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ") if "\n" in text or "\r" in text else text


def _tsv(path: Path, source_column: str, target_column: str) -> Iterator[Row]:
    return _columns(_tsv_rows(path), path, source_column, target_column)


def _csv(path: Path, source_column: str, target_column: str) -> Iterator[Row]:
    return _columns(_csv_rows(path), path, source_column, target_column)


def _parquet(path: Path, source_column: str, target_column: str) -> Iterator[Row]:
    for source, target in parquet_rows(path, source_column, target_column):
        yield _one_line(source), _one_line(target)


FORMATS: dict[str, Callable[[Path, str, str], Iterator[Row]]] = {
    ".tsv": _tsv,
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
"""By ending: what reads a table, given its file and the names of the columns of sources and of targets."""
