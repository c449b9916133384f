"""Parallel corpora: two aligned text files, or one table, as a stream of pairs.

Knows nothing of tokens. A pair is one line a side everywhere: a line break inside a field of a table becomes a blank.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, final

from heedful.data.lines import read_lines, refuse_second_use, require_file
from heedful.data.tables import FORMATS
from heedful.errors import ConfigError, HeedfulError


class Pair(NamedTuple):
    """A source text and its target text, one line each."""

    source: str
    target: str


Reader = Callable[[], Iterable[Pair]]  # opens pairs anew at each call


def read_pairs(
    paths: Sequence[str | Path], source_column: str = "source", target_column: str = "target"
) -> Iterator[Pair]:
    """Read the pairs of two aligned files, or of one table, one at a time; each file may be plain, .gz, a pipe, or "-".

    Columns are named by the header of a .csv or .tsv, the keys of a .jsonl, or the schema of a .parquet. In a .csv or
    .tsv they may be numbers from 1 instead: then there is no header. A .tsv without a header has its source in column 1
    and its target in column 2, if nothing else is said. A file of another name is a table, too, if its first line has a
    tab or is a JSON object. A missing file is an error at once, all else when its line is reached (see `count_pairs`).
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
    rows = FORMATS[_table_kind(files[0])](files[0], source_column, target_column)
    return _nonempty(map(Pair._make, rows), files)


def reader(paths: Sequence[str | Path], source_column: str = "source", target_column: str = "target") -> Reader:
    """Return a function that opens these files anew at each call."""
    return partial(read_pairs, tuple(paths), source_column, target_column)


def count_pairs(paths: Sequence[str | Path], source_column: str = "source", target_column: str = "target") -> int:
    """Count the pairs and read all of them: whatever is wrong with the files is found before any work."""
    return sum(1 for _ in read_pairs(paths, source_column, target_column))


class Fingerprint(NamedTuple):
    """Fingerprint that tells one corpus from another."""

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
    """Return the fingerprint of all these pairs."""
    watched = FingerprintedPairs(pairs)
    for _ in watched:
        pass
    return watched.fingerprint


def refuse_tables(paths: Iterable[str | Path]) -> None:
    """Raise ConfigError for a table, by its name, where files of plain lines are wanted."""
    for path in paths:
        if (kind := _suffix(Path(path))) in FORMATS:
            message = f"{path} is a table ({kind}) and holds both sides, but here a file has one side, line by line."
            hint = "Name one table alone (join several to one), or two files of plain lines, such as .txt."
            raise ConfigError(message, hint=hint)


def _suffix(path: Path) -> str:
    """Return the ending that says what a file is: the one before .gz, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:] if suffix != ".gz"]
    return suffixes[-1] if suffixes else ""


def _table_kind(path: Path) -> str:
    """Return the format of a single file by its name; by its first line, where the name does not say."""
    if (suffix := _suffix(path)) in FORMATS:
        return suffix
    first = next((line for line in read_lines(path) if line.strip()), None)
    if first is None:
        raise _no_pairs([path])
    if first.lstrip().startswith("{"):
        return ".jsonl"
    if "\t" in first:
        return ".tsv"
    tables = f"{', '.join(FORMATS)}; text may have .gz after that"
    hint = f"Name two aligned text files (source, target), or one table ({tables})."
    raise ConfigError(f"{path} alone holds no pairs: it is no table, and its first line has no tab.", hint=hint)


def _nonempty(pairs: Iterator[Pair], files: Sequence[Path]) -> Iterator[Pair]:
    first = next(pairs, None)
    if first is None:
        raise _no_pairs(files)
    yield from chain([first], pairs)


def _no_pairs(files: Sequence[Path]) -> HeedfulError:
    return HeedfulError(f"There are no pairs in {' and '.join(map(str, files))}.", hint="Is it the right file?")


def _aligned(source: Path, target: Path) -> Iterator[Pair]:
    """Pair line n of the one with line n of the other; raises HeedfulError with both counts where they differ."""
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
