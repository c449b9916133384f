"""Writing files so that a reader finds the old one or the new one, never half of one.

Knows nothing of what the files hold.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heedful.errors import CannotWrite, HeedfulError
from heedful.text.atomic_files import replacing

EDITED = "Was the file edited by hand?"
_SURROGATE = re.compile("[\ud800-\udfff]")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals to write `path`, or a part of it, into errors that say what to do."""
    try:
        yield
    except (OSError, CannotWrite) as refusal:
        raise CannotWrite(path, refusal) from refusal


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines (each gets its "\\n") in place of a file, whole or not at all.

    An existing file stays as it is until the new one is whole and on the disk. Raises HeedfulError where that fails.
    """
    with replacing(path) as file:
        file.writelines(f"{line}\n".encode() for line in lines)


def append_line(path: Path, line: str) -> None:
    """Add one line at the end of a file, in one write. Raises HeedfulError where that fails."""
    with explained(path), path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(f"{line}\n")


def to_json(value: Any, indent: int | None = None) -> str:
    """Write strict JSON, on one line unless `indent` is given.

    Numbers that JSON lacks become the strings "nan", "inf" and "-inf", which float() reads back. Bytes of a path that
    are no UTF-8 are escaped.
    """
    written = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=indent)
    if written.isascii() or not _SURROGATE.search(written):
        return written
    return json.dumps(_finite(value), allow_nan=False, indent=indent)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read the objects of a file of JSON lines, one a line.

    A last line without its "\\n" is one whose writing was cut off: it is left out.
    Raises HeedfulError with the line where anything else is no JSON object.
    """
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith("\n"):
                return
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                raise HeedfulError(f"{path}:{number} is no JSON: {reason}.", hint=EDITED) from None
            if not isinstance(record, dict):
                raise HeedfulError(f"{path}:{number} is no JSON object.", hint=EDITED)
            yield record
