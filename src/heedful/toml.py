"""TOML text as tables, layers of tables, and where a key is set in them.

What TOML allows and this program cannot hold is refused. Knows no key.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

Tree = dict[str, Any]  # a nested dictionary as TOML gives it

DEEPEST = 20  # levels of tables and lists
LARGEST = (1 << 63) - 1  # TOML promises 64 bits
_MANY_DIGITS = re.compile(r"[\da-fA-F_]{1000}")


class Layer(NamedTuple):
    """One source of values: a preset, a file, the command line. Later layers win."""

    origin: str
    values: Tree
    text: str | None = None  # the file's text, to find the line of a key
    written: Mapping[str, str] = MappingProxyType({})  # of `key=value`: the values as they were typed, by dotted key


def parse_toml(text: str) -> Tree:
    """Return the tables of a text. Raises ValueError that says what is wrong, with the line or the key."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError(f"its lists or tables nest more than {DEEPEST} deep") from None
    except ValueError:  # the only one that is no fault of TOML's: more digits than Python turns into a number
        line = next((n for n, line in enumerate(text.split("\n"), 1) if _MANY_DIGITS.search(line)), 1)
        raise ValueError(f"line {line}: a number of thousands of digits") from None
    _check(values, text)
    return values


def _check(values: Tree, text: str) -> None:
    level: list[tuple[str, Any]] = list(values.items())
    for _ in range(DEEPEST):
        inner: list[tuple[str, Any]] = []
        for key, value in level:
            if isinstance(value, dict):
                inner += [(f"{key}.{name}", entry) for name, entry in value.items()]
            elif isinstance(value, list):
                inner += [(key, entry) for entry in value]
            elif isinstance(value, int) and abs(value) > LARGEST:
                raise ValueError(f"line {_line(text, key)}: `{key}` is {value:.0e}, but a whole number has 64 bits")
            elif isinstance(value, str) and "\0" in value:
                raise ValueError(f"line {_line(text, key)}: `{key}` holds a NUL character")
        level = inner
    if level:
        raise ValueError(f"its lists or tables nest more than {DEEPEST} deep")


def _line(text: str, key: str) -> int:
    return line_of(text, key.split(".")) or 1


def line_of(text: str, path: Sequence[str]) -> int | None:
    """Return the 1-based line on which TOML text sets a dotted key, or the table that holds it inline;
    None if nowhere.
    """
    table: list[str] = []
    best, best_depth = None, 0
    for number, line in enumerate(text.split("\n"), start=1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        key = re.match(r"\s*([\w.\-\"']+)\s*=", line)
        if header:
            table = found = _parts(header.group(1))
        elif key:
            found = table + _parts(key.group(1))
        else:
            continue
        if found == list(path[: len(found)]) and len(found) > best_depth:
            best, best_depth = number, len(found)
    return best


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def place_of(paths: Sequence[Sequence[str]], layers: Sequence[Layer]) -> str:
    """Return the origin to show before a message: that of the path set last; of paths
    set together, that of the first.
    """
    for layer in reversed(layers):
        for path in paths:
            origin = origin_of(path, [layer])
            if origin:
                return f"{origin}: "
    return ""


def origin_of(path: Sequence[str], layers: Sequence[Layer]) -> str | None:
    """Return `file.toml, line 7` for the last layer that sets this key (or a table of this name), or None."""
    for layer in reversed(layers):
        if path and sets(layer.values, path):
            line = None if layer.text is None else line_of(layer.text, path)
            return f"{layer.origin}, line {line}" if line else layer.origin
    return None


def sets(values: Any, path: Sequence[str]) -> bool:
    """Return whether a nested dictionary has this key, or a table of this name."""
    for part in path:
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True
