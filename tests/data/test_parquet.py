"""Pairs from Parquet: what pyarrow writes is read back, and what is no such table is refused with its place."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heedful.data.corpus import Pair, count_pairs, read_pairs
from heedful.errors import ConfigError, HeedfulError

SOURCES, TARGETS = ["A dog.", "", "two\nlines", "\u00fc"], ["Ein Hund.", "leer", "zwei\r\nZeilen", "x"]
PAIRS = [Pair("A dog.", "Ein Hund."), Pair("", "leer"), Pair("two lines", "zwei Zeilen"), Pair("\u00fc", "x")]


def written(path: Path, **columns: pa.Array | list[str | None]) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_there_and_back(kind: pa.DataType, tmp_path: Path) -> None:
    path = written(tmp_path / "a.PARQUET", other=["-"] * 4, target=pa.array(TARGETS).cast(kind), source=SOURCES)
    assert list(read_pairs([path])) == PAIRS


def test_columns_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", en=SOURCES, de=TARGETS)
    assert list(read_pairs([path], "en", "de")) == PAIRS
    assert [pair.target for pair in read_pairs([path], "de", "de")] == [pair.target for pair in PAIRS], (
        "one column twice"
    )


def test_many_rows_come_in_their_order(tmp_path: Path) -> None:
    texts = [str(number) for number in range(10_000)]
    assert [pair.source for pair in read_pairs([written(tmp_path / "a.parquet", source=texts, target=texts)])] == texts


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        ({"en": ["a"], "de": ["b"]}, ConfigError, "no column `source`; there are: en, de"),
        ({"source": ["a"], "target": [3]}, ConfigError, "the column `target` holds no texts but int64"),
        ({"source": ["a", None], "target": ["b", "c"]}, HeedfulError, "row 2 has no text in the column `source`"),
        (
            {"source": pa.array([], pa.string()), "target": pa.array([], pa.string())},
            HeedfulError,
            "There are no pairs",
        ),
    ],
)
def test_refused(columns: dict[str, list[str | None]], error: type[HeedfulError], said: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=said) as caught:
        count_pairs([written(tmp_path / "a.parquet", **columns)])
    assert caught.value.hint
    assert "a.parquet" in caught.value.message


def test_what_is_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("source\ttarget\n")
    cut = written(tmp_path / "b.parquet", source=SOURCES, target=TARGETS)
    cut.write_bytes(cut.read_bytes()[:-9])
    for path in (tmp_path / "a.parquet", cut):
        with pytest.raises(HeedfulError, match=f"{path}: not valid Parquet"):
            count_pairs([path])


def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.parquet")
    with pytest.raises(ConfigError, match="Parquet begins at its end"):
        count_pairs([tmp_path / "a.parquet"])
