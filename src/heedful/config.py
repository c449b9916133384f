"""Reading configurations: TOML files, presets and `key=value` overrides, into frozen, strict pydantic models.

Knows no section of any configuration: each section stands beside the code that reads it, and a default is written there once.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import tomlkit
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from heedful.errors import ConfigError


class Config(BaseModel):
    """Base of every configuration section: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


ConfigT = TypeVar("ConfigT", bound=Config)
Tree = dict[str, Any]  # a nested dictionary as TOML gives it


class Layer(NamedTuple):
    """One source of values: a preset, a file, the command line. Later layers win."""

    origin: str
    values: Tree
    text: str | None = None  # the file's text, to find the line of a key


class Resolved(NamedTuple):
    """A checked configuration, and where each of its dotted keys came from ("default" where nobody set it)."""

    config: Any
    origins: dict[str, str]


def read_toml(path: Path) -> Layer:
    """Read a TOML file; the error names the line."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"No configuration file at {path}.", hint="`heedful init` writes a complete one; `heedful config presets` lists names."
        ) from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a directory, not a configuration file.", hint="Name the .toml file inside it.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}).", hint="Is this really a TOML file?") from None
    try:
        return Layer(str(path), tomllib.loads(text), text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}.", hint="Strings need quotes in TOML: norm = \"post\".") from None


def parse_overrides(assignments: Sequence[str]) -> Layer:
    """`training.max_updates=100` -> {"training": {"max_updates": 100}}. A value that is no TOML value is taken as a string."""
    values: Tree = {}
    for assignment in assignments:
        key, equals, raw = assignment.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][\w.\-]*", key):
            raise ConfigError(f"`{assignment}` is not of the form key=value.", hint="For example: training.max_updates=100")
        try:
            value = tomllib.loads(f"value = {raw}")["value"]
        except tomllib.TOMLDecodeError:
            value = raw
        set_key(values, key, value)
    return Layer("command line", values)


def set_key(values: Tree, dotted: str, value: Any) -> None:
    """Set a dotted key in a nested dictionary, making the tables on the way."""
    *tables, last = dotted.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(f"`{dotted}`: `{table}` is a value, not a table.")
    values[last] = value


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"model": {"d_model": 512}} -> {"model.d_model": 512}."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def merge(base: Tree, over: Tree) -> Tree:
    """`over` on top of `base`, table by table; neither is changed."""
    merged = dict(base)
    for key, value in over.items():
        inherited = merged.get(key)
        merged[key] = merge(inherited, value) if isinstance(value, dict) and isinstance(inherited, dict) else value
    return merged


def resolve(kind: type[ConfigT], layers: Sequence[Layer]) -> Resolved:
    """Merge the layers, check the result against `kind`, and remember where each value came from.

    Raises ConfigError that names the key, its origin with the line, the nearest right key, and what was expected.
    """
    values: Tree = {}
    set_by: dict[str, str] = {}
    for layer in layers:
        values = merge(values, layer.values)
        set_by.update(dict.fromkeys(flatten(layer.values), layer.origin))
    try:
        config = kind.model_validate(values)
    except ValidationError as error:
        raise _explained(error.errors()[0], kind, layers) from None
    return Resolved(config, {key: set_by.get(key, "default") for key in flatten(to_tree(config))})


def _explained(error: ErrorDetails, kind: type[BaseModel], layers: Sequence[Layer]) -> ConfigError:
    """What pydantic found first, said with its place and the way out."""
    path = [str(part) for part in error["loc"]]
    dotted = ".".join(path)
    place = _place(path, layers)
    if error["type"] == "extra_forbidden":
        known = _fields_at(kind, path[:-1])
        near = difflib.get_close_matches(path[-1], known, n=1)
        hint = f"Did you mean `{near[0]}`?" if near else f"Known keys here: {', '.join(sorted(known))}."
        return ConfigError(f"{place}unknown key `{dotted}`.", hint=hint)
    if error["type"] == "missing":
        hint = "Add it, or start from a preset (`heedful config presets`)."
        return ConfigError(f"{place}`{dotted}` is required and has no default.", hint=hint)
    found = "" if isinstance(error.get("input"), dict) else f", but is {error.get('input')!r}"
    return ConfigError(f"{place}`{dotted}`: {_lower_first(error['msg'])}{found}.")


def _lower_first(text: str) -> str:
    text = text.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _place(path: Sequence[str], layers: Sequence[Layer]) -> str:
    """`file.toml, line 7: ` for the last layer that set this key (or a table above it)."""
    for layer in reversed(layers):
        node: Any = layer.values
        for part in path:
            if not isinstance(node, dict) or part not in node:
                break
            node = node[part]
        else:
            line = line_of(layer.text, path) if layer.text is not None else None
            return f"{layer.origin}, line {line}: " if line else f"{layer.origin}: "
    return ""


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The 1-based line on which TOML text sets a dotted key, or None."""
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        if header:
            table = [part.strip().strip("\"'") for part in header.group(1).split(".")]
            if table == list(path):
                return number
            continue
        key = re.match(r"\s*([\w.\-\"']+)\s*=", line)
        if key and table + [part.strip("\"'") for part in key.group(1).split(".")] == list(path):
            return number
    return None


def _fields_at(kind: type[BaseModel], path: Iterable[str]) -> list[str]:
    """The field names of the (nested) model at a path."""
    for part in path:
        field = kind.model_fields.get(part)
        inner = [] if field is None else [t for t in _types_in(field.annotation) if issubclass(t, BaseModel)]
        if not inner:
            return []
        kind = inner[0]
    return list(kind.model_fields)


def _types_in(annotation: Any) -> list[type]:
    """The classes inside `X`, `X | None`, ..."""
    if isinstance(annotation, type):
        return [annotation]
    return [t for argument in getattr(annotation, "__args__", ()) for t in _types_in(argument)]


def to_tree(config: BaseModel) -> Tree:
    """A plain nested dictionary, without the keys that are None (TOML has no null)."""
    return config.model_dump(mode="json", exclude_none=True)


def to_toml(config: BaseModel, *, comments: bool = False) -> str:
    """Write a configuration as TOML; with `comments`, each key carries the description of its field."""
    document = tomlkit.document()
    _write_table(document, config, to_tree(config), comments)
    return tomlkit.dumps(document)


def _write_table(table: Any, config: BaseModel, tree: Tree, comments: bool) -> None:
    scalars = {key: value for key, value in tree.items() if not isinstance(value, dict)}
    for key, value in scalars.items():
        item = tomlkit.item(value)
        description = type(config).model_fields[key].description
        if comments and description:
            item.comment(description)
        table.add(key, item)
    for key, value in tree.items():
        if isinstance(value, dict):
            inner = tomlkit.table()
            _write_table(inner, getattr(config, key), value, comments)
            table.add(key, inner)


class Difference(NamedTuple):
    """One key in which two configurations differ (None where a side does not have it)."""

    key: str
    left: Any
    right: Any


def differences(left: BaseModel, right: BaseModel) -> list[Difference]:
    """The keys in which two configurations differ, in order."""
    a, b = flatten(to_tree(left)), flatten(to_tree(right))
    return [Difference(key, a.get(key), b.get(key)) for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)]
