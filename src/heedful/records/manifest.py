"""The rows of data_manifest.csv: which items a run saw, by hash, so that no text of the data travels with its evidence.

Does not know where the items come from.
"""

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from heedful.errors import HeedfulError
from heedful.records.files import EDITED, write_lines

HASH_DIGITS = 16  # 64 bits: among 100 million items, two equal hashes have a probability of 0.03 %


class ManifestRow(NamedTuple):
    """One item of one split. Items of one `group` (all pronunciations of a word, say) never stand in two splits."""

    id: str
    source_hash: str
    target_hash: str
    split: str
    group: str


def text_hash(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:HASH_DIGITS]


def item_id(split: str, index: int) -> str:
    """Return the name of an item in all records of a run: its split and its position there, from 0."""
    return f"{split}-{index}"


def split_of(item: str) -> str:
    """Return the split in the name of an item."""
    return item.rpartition("-")[0]


def manifest_rows(
    split: str, pairs: Iterable[tuple[int, tuple[str, str]]], group: Callable[[str], str] | None = None
) -> Iterator[ManifestRow]:
    """Make a row of each numbered (source, target); numbers are positions in the split, from 0.

    `group` maps a source to its group; left out, each distinct source is one.
    """
    for index, (source, target) in pairs:
        name = group(source) if group is not None else source
        yield ManifestRow(item_id(split, index), text_hash(source), text_hash(target), split, text_hash(name))


def data_hash(sources: Iterable[str], references: Iterable[Sequence[str]]) -> str:
    """Hash a test set: every source and every reference, in order (16 hexadecimal digits)."""
    digest = hashlib.sha256()
    for source, targets in zip(sources, references, strict=True):
        for text in (source, *targets):
            encoded = text.encode("utf-8")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
        digest.update(b"\xff")  # ends an item; no UTF-8 text and no length below 2^63 begins with it
    return digest.hexdigest()[:HASH_DIGITS]


def write_manifest_file(path: Path, rows: Iterable[ManifestRow]) -> None:
    """Write data_manifest.csv, row by row: it may be as long as the corpus."""
    write_lines(path, map(",".join, chain([ManifestRow._fields], rows)))  # ids, hashes and split names need no quotes


def read_manifest_file(path: Path) -> Iterator[ManifestRow]:
    """Read data_manifest.csv. Raises HeedfulError with the line where a row has another shape."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        for row in reader:
            if len(row) != len(ManifestRow._fields):
                raise HeedfulError(f"{path}:{reader.line_num}: not a row of a data manifest.", hint=EDITED)
            if reader.line_num > 1:
                yield ManifestRow(*row)
