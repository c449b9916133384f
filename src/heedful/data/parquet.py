"""Two text columns of a Parquet file, row by row, with little of the file in memory at once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heedful.data.spool import is_stream
from heedful.errors import ConfigError, HeedfulError

ROWS_AT_ONCE = 4096


def parquet_rows(path: Path, source_column: str, target_column: str) -> Iterator[tuple[str, str]]:
    """Read the texts of two columns.

    Raises ConfigError for columns that are not there or hold no text, and for a pipe; HeedfulError for a damaged file,
    and with the row, from 1, where a text is missing.
    """
    import pyarrow as pa  # not before it is needed: it costs 0.1 s
    import pyarrow.parquet as pq

    if is_stream(path):
        hint = "Write it into a file first, and name that."
        raise ConfigError(f"{path} can be read only from its beginning, and Parquet begins at its end.", hint=hint)
    try:
        with pq.ParquetFile(path) as file:
            columns = [_column(file.schema_arrow, name, path) for name in (source_column, target_column)]
            row = 0
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=sorted(set(columns))):
                texts = [batch.column(name).to_pylist() for name in columns]
                for source, target in zip(*texts, strict=True):
                    row += 1
                    yield _text(source, path, row, columns[0]), _text(target, path, row, columns[1])
    except pa.ArrowInvalid as error:
        raise HeedfulError(f"{path}: not valid Parquet: {error}.", hint="Is it the right file, and whole?") from None


def _column(schema: Any, name: str, path: Path) -> str:
    """Check that the schema has a column of texts with this name."""
    import pyarrow.types as kinds

    if name not in schema.names:
        hint = "Set `source_column` and `target_column` to two of these names."
        raise ConfigError(f"{path}: no column `{name}`; there are: {', '.join(schema.names)[:200]}.", hint=hint)
    kind = schema.field(name).type
    inner = kind.value_type if kinds.is_dictionary(kind) else kind
    if not (kinds.is_string(inner) or kinds.is_large_string(inner)):
        raise ConfigError(f"{path}: the column `{name}` holds no texts but {kind}.", hint="Name another column.")
    return name


def _text(value: str | None, path: Path, row: int, column: str) -> str:
    if value is None:
        hint = "Leave out rows without a text, or fill them."
        raise HeedfulError(f"{path}: row {row:,} has no text in the column `{column}`.", hint=hint)
    return value
