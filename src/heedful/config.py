"""Reading configurations: TOML files, presets and `key=value` overrides, into frozen, strict pydantic models.

Knows no section of any configuration: each stands beside the code that reads it, and a default is written there once.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import tomlkit
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from heedful.errors import ConfigError
from heedful.sections import every_key, other_kinds, own_keys, refuse_unused, section_for, sections_in, tag_of


class Config(BaseModel):
    """Base of every configuration section: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="after")
    def _every_setting_has_an_effect(self) -> Self:
        refuse_unused(self)
        return self


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
    """Read a TOML file (a byte order mark is allowed); the error names the line."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        hint = "`heedful init` writes one, and `heedful init --recipe NAME` copies one that comes with heedful."
        raise ConfigError(f"No configuration file at {path}.", hint=hint) from None
    except IsADirectoryError:
        hint = "Name the .toml file inside it."
        raise ConfigError(f"{path} is a directory, not a configuration file.", hint=hint) from None
    except UnicodeDecodeError as error:
        hint = "Is this really a TOML file?"
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}).", hint=hint) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return Layer(str(path), tomllib.loads(text), text)
    except tomllib.TOMLDecodeError as error:
        hints = ("Set each key by `key = value`, and each only once.", 'Strings need quotes in TOML: norm = "post".')
        hint = hints["Invalid value" in str(error)]
        raise ConfigError(f"{path}: {error}.", hint=hint) from None


def parse_overrides(assignments: Sequence[str]) -> Layer:
    """`training.max_updates=100` -> {"training": {"max_updates": 100}}.

    A value that is no TOML value is taken as a string, so that quotes can be left out.
    """
    values: Tree = {}
    for assignment in assignments:
        key, equals, raw = assignment.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][\w.\-]*", key):
            raise ConfigError(
                f"`{assignment}` is not of the form key=value.", hint="For example: training.max_updates=100"
            )
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
            raise ConfigError(f"`{dotted}` cannot be set, because `{table}` is set to a single value as well.")
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
    for layer in layers:
        values = merge(values, layer.values)
    try:
        config = kind.model_validate(values)
    except ValidationError as error:
        raise _explained(error.errors()[0], kind, values, layers) from None
    keys = flatten(to_tree(config))
    return Resolved(config, {key: _origin(key.split("."), layers) or "default" for key in keys})


def _explained(error: ErrorDetails, kind: type[BaseModel], values: Tree, layers: Sequence[Layer]) -> ConfigError:
    """What pydantic found first, said with its place and the way out."""
    path = own_keys(kind, error["loc"])
    key, found = ".".join(path), error.get("input")
    if error["type"] == "missing":
        is_table = len(path) == 1 and section_for(kind.model_fields[key].annotation, None)
        hint = f"Add it, as {f'a table [{key}]' if is_table else f'`{key} = ...`'}. {_meaning(kind, path, values)}"
        return ConfigError(f"`{key}` is required and has no default.", hint=hint)
    if error["type"] == "value_error":  # from a validator of ours, often about several keys of one table
        message = error["msg"].removeprefix("Value error, ")
        named = [[*path, *name.split(".")] for name in re.findall(r"`([\w.]+)`", message)]
        subject = "" if not key else f"[{key}]: " if isinstance(found, dict) else f"`{key}`: "
        return ConfigError(f"{_place([*named, path], layers)}{subject}{message}.")
    if error["type"].startswith("union_tag") and isinstance(found, dict):
        return _unknown_kind(error, path, _tag_at(kind, path), layers)
    place = _place([path], layers)
    if error["type"] == "extra_forbidden":
        return ConfigError(f"{place}unknown key `{key}`.", hint=_nearest(kind, path, values))
    no_table = error["type"] in ("model_type", "union_tag_not_found")
    said = error["msg"].replace("a valid tuple", "a list, in brackets")
    wanted = "must be a table" if no_table else re.sub("^Input should", "must", said)
    but = "a table" if isinstance(found, dict) else repr(found)
    message = f"{place}`{key}` {wanted[:1].lower()}{wanted[1:]}, but is {but}."
    return ConfigError(message, hint=_suggestion(error) or _meaning(kind, path, values))


def _tag_at(kind: type[BaseModel], path: Sequence[str]) -> str:
    """The key by which the table at this path says of which kind it is."""
    section = kind
    for name in path:
        section = sections_in(section.model_fields[name].annotation)[0]
    return tag_of(section) or "kind"


def _unknown_kind(error: ErrorDetails, table: Sequence[str], tag: str, layers: Sequence[Layer]) -> ConfigError:
    """A table of a kind that there is not."""
    path = [*table, tag]
    found, known = error["input"][tag], re.findall(r"'([^']*)'", error.get("ctx", {}).get("expected_tags", ""))
    near = difflib.get_close_matches(str(found), known, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else "`heedful config schema` lists what there is."
    return ConfigError(f"{_place([path], layers)}`{'.'.join(path)}` cannot be {found!r}.", hint=hint)


def _nearest(kind: type[BaseModel], path: Sequence[str], values: Tree) -> str:
    """The way out of an unknown key: a sibling of nearly this name, this name in another table, or the siblings."""
    *table, name = path
    keys = [key.split(".") for key in every_key(kind, values)]
    siblings = [key[-1] for key in keys if key[:-1] == table]
    near = [[*table, sibling] for sibling in difflib.get_close_matches(name, siblings, n=1)]
    elsewhere = [key for key in keys if key[-1] == name]
    kinds = other_kinds(kind.model_fields[table[0]].annotation, values[table[0]], name) if len(table) == 1 else []
    if kinds:
        return f'It is a key of `{table[0]}.{_tag_at(kind, table)}` = "{kinds[0]}".'
    if near or elsewhere:
        return f"Did you mean `{'.'.join([*near, *elsewhere][0])}`?"
    return f"Known keys here: {', '.join(sorted(siblings))}."


def _suggestion(error: ErrorDetails) -> str | None:
    """The way out of a wrong value, where one is known."""
    found = error.get("input")
    if error["type"] == "bool_type" and isinstance(found, str):
        return "TOML writes truth values as true and false."
    if error["type"] == "literal_error" and isinstance(found, str):
        allowed = re.findall(r"'([^']*)'", error["msg"])
        near = difflib.get_close_matches(found, allowed, n=1)
        return f"Did you mean `{near[0]}`?" if near else None
    return None


def _meaning(kind: type[BaseModel], path: Sequence[str], values: Any) -> str:
    """What a key is for, where that is written down; else where to read it."""
    for name in path[:-1]:
        values = values.get(name)
        kind = section_for(kind.model_fields[name].annotation, values) or kind
    field = kind.model_fields.get(path[-1]) if path else None
    if field is None or not field.description:
        return "`heedful init` writes a recipe with every key, its default and what it is for."
    return f"`{path[-1]}`: {field.description}."


def _place(paths: Sequence[Sequence[str]], layers: Sequence[Layer]) -> str:
    """The origin to show before a message: that of the path set last; of paths set together, that of the first."""
    for layer in reversed(layers):
        for path in paths:
            origin = _origin(path, [layer])
            if origin:
                return f"{origin}: "
    return ""


def _origin(path: Sequence[str], layers: Sequence[Layer]) -> str | None:
    """`file.toml, line 7` for the last layer that sets this key (or a table of this name), or None."""
    for layer in reversed(layers):
        if path and _sets(layer.values, path):
            line = None if layer.text is None else line_of(layer.text, path)
            return f"{layer.origin}, line {line}" if line else layer.origin
    return None


def _sets(values: Any, path: Sequence[str]) -> bool:
    for part in path:
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The 1-based line on which TOML text sets a dotted key, or the table that holds it inline; None if nowhere."""
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


def to_tree(config: BaseModel) -> Tree:
    """A plain nested dictionary, without the keys that are None (TOML has no null)."""
    return config.model_dump(mode="json", exclude_none=True)


def to_toml(config: BaseModel, *, comments: bool = False) -> str:
    """Write a configuration as TOML.

    With `comments`, each table and key carries its description, and keys without a value stand as comments.
    """
    return "\n".join(_table_lines(config, (), comments)) + "\n"


def _table_lines(config: BaseModel, path: tuple[str, ...], comments: bool) -> list[str]:
    """The lines of one table: its own keys first, as TOML wants it, then the tables inside it."""
    lines = [f"[{'.'.join(path)}]"] if path else []
    if comments and config.__doc__:
        lines.append(f"# {config.__doc__.strip().splitlines()[0]}")
    tables: list[str] = []
    plain = to_tree(config)
    for name, field in type(config).model_fields.items():
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            tables += ["", *_table_lines(value, (*path, name), comments)]
        elif value is not None:
            note = f"  # {field.description}" if comments and field.description else ""
            lines.append(f"{name} = {tomlkit.item(plain[name]).as_string()}{note}")
        elif comments:
            section = f"[{'.'.join((*path, name))}]" if sections_in(field.annotation) else f"{name} ="
            lines.append(f"# {section}  # {field.description or 'not set'}")
    return lines + tables


class Difference(NamedTuple):
    """One key in which two configurations differ (None where a side does not have it)."""

    key: str
    left: Any
    right: Any


def differences(left: BaseModel, right: BaseModel) -> list[Difference]:
    """The keys in which two configurations differ, in order."""
    a, b = flatten(to_tree(left)), flatten(to_tree(right))
    return [Difference(key, a.get(key), b.get(key)) for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)]
