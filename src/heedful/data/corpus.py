"""Parallel corpora: two aligned text files, or one table (.tsv, .csv, .jsonl), as a stream of pairs.

Knows nothing of tokens. A pair is one line a side everywhere: a line break inside a field of a table becomes a blank.
"""

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, final

from heedful.data.headers import other_names
from heedful.data.json_lines import parse_json, require_whole
from heedful.data.lines import read_lines, refuse_second_use, require_file
from heedful.errors import ConfigError, HeedfulError

TABLES = (".tsv", ".csv", ".jsonl")
USUAL_COLUMNS = ("source", "target")
LONGEST_FIELD = 1 << 28  # characters; the csv module's own limit is 131,072


class Pair(NamedTuple):
    """A source text and its target text, one line each."""

    source: str
    target: str


Reader = Callable[[], Iterable[Pair]]  # opens pairs anew at each call


def read_pairs(
    paths: Sequence[str | Path], source_column: str = "source", target_column: str = "target"
) -> Iterator[Pair]:
    """The pairs of two aligned files, or of one table, one at a time; each file may be plain, .gz, a pipe, or "-".

    Columns are named by the header of a .csv or .tsv, or the keys of a .jsonl. In a .csv or .tsv they may be numbers
    from 1 instead: then there is no header. A .tsv without a header has its source in column 1 and its target in
    column 2, if nothing else is said. A file of another name is a table, too, if its first line has a tab or is a JSON
    object. A missing file is an error at once, all else when its line is reached (see `count_pairs`).
    """
    files = [Path(path) for path in paths]
    if len(files) not in (1, 2):
        hint = "Name one table, or a source file and its target file."
        raise ConfigError(
            f"Pairs come from one table or from two aligned files, but {len(files)} files are named.", hint=hint
        )
    refuse_second_use(files)
    for file in files:
        require_file(file)
    if len(files) == 2:
        refuse_tables(files)
        return _nonempty(_aligned(*files), files)
    kind = _table_kind(files[0])
    if kind == ".jsonl":
        return _nonempty(_jsonl(files[0], source_column, target_column), files)
    rows = _csv_rows(files[0]) if kind == ".csv" else _tsv_rows(files[0])
    return _nonempty(_columns(rows, files[0], source_column, target_column), files)


def reader(paths: Sequence[str | Path], source_column: str = "source", target_column: str = "target") -> Reader:
    """What opens these files anew at each call."""
    return partial(read_pairs, tuple(paths), source_column, target_column)


def count_pairs(paths: Sequence[str | Path], source_column: str = "source", target_column: str = "target") -> int:
    """The number of pairs, all of which are read: whatever is wrong with the files is found before any work."""
    return sum(1 for _ in read_pairs(paths, source_column, target_column))


class Fingerprint(NamedTuple):
    """What tells one corpus from another."""

    pairs: int
    sha256: str  # of the texts of the pairs in their order


@final
class FingerprintedPairs:
    """Pairs on their way to somebody who reads them, once and to the end; `fingerprint` is of those that passed."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._pairs, self._count, self._digest = pairs, 0, hashlib.sha256()

    def __iter__(self) -> Iterator[Pair]:
        for pair in self._pairs:
            self._count += 1
            self._digest.update(f"{pair.source}\n{pair.target}\n".encode())
            yield pair

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the pairs so far."""
        return Fingerprint(self._count, self._digest.hexdigest())


def fingerprint(pairs: Iterable[Pair]) -> Fingerprint:
    """Of all these pairs."""
    watched = FingerprintedPairs(pairs)
    for _ in watched:
        pass
    return watched.fingerprint


def refuse_tables(paths: Iterable[str | Path]) -> None:
    """Raise ConfigError for a table, by its name, where files of plain lines are wanted."""
    for path in paths:
        if (kind := _suffix(Path(path))) in TABLES:
            message = f"{path} is a table ({kind}) and holds both sides, but here a file has one side, line by line."
            hint = "Name one table alone (join several to one), or two files of plain lines, such as .txt."
            raise ConfigError(message, hint=hint)


def _suffix(path: Path) -> str:
    """The ending that says what a file is: the one before .gz, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:] if suffix != ".gz"]
    return suffixes[-1] if suffixes else ""


def _table_kind(path: Path) -> str:
    """What kind of table a single file is, by its name; by its first line, where the name does not say."""
    if (suffix := _suffix(path)) in TABLES:
        return suffix
    first = next((line for line in read_lines(path) if line.strip()), None)
    if first is None:
        raise _no_pairs([path])
    if first.lstrip().startswith("{"):
        return ".jsonl"
    if "\t" in first:
        return ".tsv"
    hint = "Name two aligned text files (source, target), or one table: .tsv, .csv, .jsonl (or .gz after that)."
    raise ConfigError(f"{path} alone holds no pairs: it is no table, and its first line has no tab.", hint=hint)


def _nonempty(pairs: Iterator[Pair], files: Sequence[Path]) -> Iterator[Pair]:
    first = next(pairs, None)
    if first is None:
        raise _no_pairs(files)
    yield from chain([first], pairs)


def _no_pairs(files: Sequence[Path]) -> HeedfulError:
    return HeedfulError(f"There are no pairs in {' and '.join(map(str, files))}.", hint="Is it the right file?")


def _aligned(source: Path, target: Path) -> Iterator[Pair]:
    """Line n of the one with line n of the other; raises HeedfulError with both counts where they differ."""
    sources, targets = read_lines(source), read_lines(target)
    count = 0
    for text in sources:
        translation = next(targets, None)
        if translation is None:
            more = count + 1 + sum(1 for _ in sources)
            raise _unaligned(source, more, target, count)
        count += 1
        yield Pair(text, translation)
    if next(targets, None) is not None:
        raise _unaligned(source, count, target, count + 1 + sum(1 for _ in targets))


def _unaligned(source: Path, n_source: int, target: Path, n_target: int) -> HeedfulError:
    hint = "Line n of one file must translate line n of the other. Are both from the same version and split?"
    return HeedfulError(
        f"{source} has {n_source:,} lines but {target} has {n_target:,}, so they are not aligned.", hint=hint
    )


class _Row(NamedTuple):
    line: int  # in the file, from 1
    fields: list[str]


def _tsv_rows(path: Path) -> Iterator[_Row]:
    """Fields between tabs; there are no quotes. Blank lines hold no pair."""
    return (_Row(number, line.split("\t")) for number, line in enumerate(read_lines(path), start=1) if line.strip())


def _csv_rows(path: Path) -> Iterator[_Row]:
    """Fields between commas, which may be quoted. Blank lines hold no pair."""
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
            yield _Row(line, fields)


def _columns(rows: Iterator[_Row], path: Path, source_column: str, target_column: str) -> Iterator[Pair]:
    """The two columns of a table."""
    first = next(rows, None)
    if first is None:
        return
    source, target, header = _places(first, path, source_column, target_column)
    for row in rows if header else chain([first], rows):
        if len(row.fields) <= max(source, target):
            wanted = f"column {max(source, target) + 1} is needed"
            hint = "Does a tab (or, in a .csv, a comma) stand between source and target?"
            raise HeedfulError(f"{path}:{row.line}: {len(row.fields)} column(s), but {wanted}.", hint=hint)
        yield Pair(_one_line(row.fields[source]), _one_line(row.fields[target]))


def _places(first: _Row, path: Path, source_column: str, target_column: str) -> tuple[int, int, bool]:
    """The places of the columns from 0, and whether the first row is a header."""
    names = [name.strip() for name in first.fields]
    if source_column in names and target_column in names:
        return names.index(source_column), names.index(target_column), True
    places = _number(source_column), _number(target_column)
    if places[0] is not None and places[1] is not None:
        return places[0] - 1, places[1] - 1, False
    if _suffix(path) != ".csv" and (source_column, target_column) == USUAL_COLUMNS:
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
    """The number of a column from 1, if it is given by one."""
    return int(column) if column.isdecimal() and len(column) < 10 and int(column) > 0 else None


def _jsonl(path: Path, source_key: str, target_key: str) -> Iterator[Pair]:
    """One JSON object a line. Blank lines hold no pair."""
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            record = parse_json(line, f"{path}:{number}", "One object a line.")
            source, target = (_text_of(record, key, f"{path}:{number}") for key in (source_key, target_key))
            yield Pair(source, target)


def _text_of(record: object, key: str, place: str) -> str:
    """The text under a key of a JSON object."""
    if not isinstance(record, dict):
        raise HeedfulError(f"{place}: not a JSON object but {record!r:.80}.", hint="One object a line.")
    if not isinstance(text := record.get(key), str):
        found = f"there are: {', '.join(record)[:200]}" if key not in record else f"its value is {text!r:.80}"
        hint = "Set `source_column` and `target_column` to the keys of the two texts."
        raise HeedfulError(f"{place}: no text under the key `{key}`; {found}.", hint=hint)
    return _one_line(require_whole(text, f"{place}: `{key}`"))


def _one_line(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ") if "\n" in text or "\r" in text else text
