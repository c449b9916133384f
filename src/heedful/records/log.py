"""The log of a run: one JSON object a line, each with a checksum of its own, because lines are only ever added.

A last line that a crash cut off is left out. Knows nothing of what the events mean.
"""

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from heedful.errors import HeedfulError
from heedful.records.files import EDITED, append_line, to_json

KEY = "crc32"
_CHECKED = re.compile(rf'(\{{.*), "{KEY}": "([0-9a-f]{{8}})"\}}')


def append_event(path: Path, record: Mapping[str, Any]) -> None:
    """Add an event at the end of a log, in one write. Raises HeedfulError where that fails."""
    append_line(path, event_line(record))


def event_line(record: Mapping[str, Any]) -> str:
    """Return the line of an event, with the CRC-32 of what stands before it."""
    text = to_json(record)
    return f'{text[:-1]}, "{KEY}": "{_crc(text)}"}}'


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """Read the events of a log, in their order; none where there is no such file.

    Raises HeedfulError with the line where one is no JSON object, or is not as it was written.
    """
    if not path.exists():
        return
    all_checked = False  # lines of earlier versions have no checksum, and stand before all that have one
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            text, place = raw.decode("utf-8", errors="replace"), f"{path}:{number}"
            if not text.endswith("\n"):
                if _is_whole(text[:-1]):
                    raise HeedfulError(f"{place} is damaged at its end.", hint=EDITED)
                return
            line = text.removesuffix("\n")
            checked = _is_whole(line)
            record = _parsed(line, place)
            if not checked and (all_checked or any(_is_nearly(KEY, key) for key in record)):
                raise HeedfulError(f"{place} is damaged: it is not as it was written.", hint=EDITED)
            all_checked = all_checked or checked
            record.pop(KEY, None)
            yield record


def _parsed(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise HeedfulError(f"{place} is no JSON: {error}.", hint=EDITED) from None
    if not isinstance(record, dict) or not isinstance(record.get("event"), str):
        raise HeedfulError(f"{place} is no event.", hint=EDITED)
    return record


def _is_nearly(word: str, other: str) -> bool:
    """Return whether two words differ in one letter at most."""
    return len(word) == len(other) and sum(a != b for a, b in zip(word, other, strict=True)) <= 1


def _is_whole(line: str) -> bool:
    """Return whether a line is complete: a crash leaves the beginning of one."""
    found = _CHECKED.fullmatch(line)
    return found is not None and _crc(found[1] + "}") == found[2]


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def cut_off_end(path: Path) -> None:
    """Remove a last line whose writing a crash interrupted, so that the next line starts on its own.

    Raises HeedfulError where that line is no beginning of one, but a whole one whose end was changed.
    """
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = _end_of_last_line(file)
        file.seek(end)
        if _is_whole(file.read()[:-1].decode("utf-8", errors="replace")):
            raise HeedfulError(f"{path} is damaged at the end of its last line.", hint=EDITED)
        file.truncate(end)


def _end_of_last_line(file: BinaryIO, block: int = 65536) -> int:
    """Find the position after the last "\\n" of a binary file (0 where it has none), read from its end."""
    position = file.seek(0, os.SEEK_END)
    while position > 0:
        start = max(0, position - block)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0
