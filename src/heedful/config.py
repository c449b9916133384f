"""Reading configurations: TOML files, presets and `key=value` overrides, into frozen, strict pydantic models.

Knows no section of any configuration: each stands beside the code that reads it, and a default is written there once.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import tomlkit
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from heedful.errors import NO_PERMISSION, ConfigError, HeedfulError
from heedful.refusals import explained
from heedful.sections import refuse_unused, sections_in, wants_text
from heedful.toml import Layer, Tree, origin_of, parse_toml


class Config(BaseModel):
    """Base of every configuration section: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="after")
    def _every_setting_has_an_effect(self) -> Self:
        refuse_unused(self)
        return self


ConfigT = TypeVar("ConfigT", bound=Config)


class ResolvedConfig(NamedTuple):
    """A checked configuration, and where each of its dotted keys came from ("default" where nobody set it)."""

    config: Any
    origins: dict[str, str]


def read_toml(path: Path) -> Layer:
    """Read a TOML file (a byte order mark is allowed); the error names the line."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        hint = "`heedful init` writes one, and `heedful init --recipe NAME` copies one that comes with heedful."
        raise ConfigError(f"No configuration file at {path}.", hint=hint) from None
    except IsADirectoryError:
        hint = "Name the .toml file inside it."
        raise ConfigError(f"{path} is a directory, not a configuration file.", hint=hint) from None
    except UnicodeDecodeError as error:
        hint = "Is this really a TOML file?"
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}).", hint=hint) from None
    except OSError as error:
        raise HeedfulError(f"{path} cannot be read: {error.strerror}.", hint=NO_PERMISSION) from None
    try:
        return Layer(str(path), parse_toml(text), text)
    except ValueError as error:
        hints = ("Set each key by `key = value`, and each only once.", 'Strings need quotes in TOML: norm = "post".')
        hint = hints["Invalid value" in str(error)]
        raise ConfigError(f"{path}: {error}.", hint=hint) from None


def parse_overrides(assignments: Sequence[str]) -> Layer:
    """Parse overrides: `training.max_updates=100` becomes {"training": {"max_updates": 100}}.

    A value that is no TOML value is taken as a string, so that quotes can be left out. Where the key holds text, so is
    one that would be a number, a date or a truth value (see `resolve`).
    """
    values: Tree = {}
    written: dict[str, str] = {}
    for assignment in assignments:
        key, equals, raw = assignment.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][\w.\-]*", key):
            raise ConfigError(
                f"`{assignment}` is not of the form key=value.", hint="For example: training.max_updates=100"
            )
        set_key(values, key, _value(key, raw))
        written[key] = raw
    return Layer("command line", values, written=written)


def _value(key: str, raw: str) -> Any:
    if not raw.isprintable() and any("\ud800" <= character <= "\udfff" for character in raw):
        hint = "Does the terminal send UTF-8?"
        raise ConfigError(f"command line: `{key}` is no UTF-8 text: {raw[:80]!a}.", hint=hint)
    try:
        parsed = parse_toml(f"value = {raw}")
    except tomllib.TOMLDecodeError:
        return raw
    except ValueError as error:
        message = str(error).replace("`value", f"`{key}").replace("line 1: ", "")
        subject = "" if message.startswith("`") else f"`{key}`: "
        raise ConfigError(f"command line: {subject}{message}.", hint="Is it what you meant to set?") from None
    return parsed["value"] if len(parsed) == 1 else raw


def set_key(values: Tree, dotted: str, value: Any) -> None:
    """Set a dotted key in a nested dictionary, making the tables on the way."""
    *tables, last = dotted.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(f"`{dotted}` cannot be set, because `{table}` is set to a single value as well.")
    values[last] = value


def nested(dotted: str, value: Any) -> Tree:
    """Nest a dotted key: "model.d_model" and 512 give {"model": {"d_model": 512}}."""
    values: Tree = {}
    set_key(values, dotted, value)
    return values


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten a nested dictionary: {"model": {"d_model": 512}} gives {"model.d_model": 512}."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def merge(base: Tree, over: Tree) -> Tree:
    """Merge `over` into `base`, table by table; neither is changed."""
    merged = dict(base)
    for key, value in over.items():
        inherited = merged.get(key)
        merged[key] = merge(inherited, value) if isinstance(value, dict) and isinstance(inherited, dict) else value
    return merged


def resolve(kind: type[ConfigT], layers: Sequence[Layer]) -> ResolvedConfig:
    """Merge the layers, check the result against `kind`, and remember where each value came from.

    What was typed as `key=value` is text where the key holds text, whatever it would be in TOML: `run=42`.
    Raises ConfigError that names the key, its origin with the line, the nearest right key, and what was expected.
    """
    values: Tree = {}
    for layer in layers:
        values = merge(values, layer.values)
        for key, text in layer.written.items():
            if wants_text(kind, key.split("."), values):
                values = merge(values, nested(key, text))
    try:
        config = kind.model_validate(values)
    except ValidationError as error:
        raise explained(error.errors()[0], kind, values, layers) from None
    keys = flatten(to_tree(config))
    return ResolvedConfig(config, {key: origin_of(key.split("."), layers) or "default" for key in keys})


def to_tree(config: BaseModel) -> Tree:
    """Convert to a plain nested dictionary, without the keys that are None (TOML has no null)."""
    return config.model_dump(mode="json", exclude_none=True)


def to_toml(config: BaseModel, *, comments: bool = False) -> str:
    """Write a configuration as TOML.

    With `comments`, each table and key carries its description, and keys without a value stand as comments.
    """
    return "\n".join(_table_lines(config, (), comments)) + "\n"


def _table_lines(config: BaseModel, path: tuple[str, ...], comments: bool) -> list[str]:
    """Return the lines of one table: its own keys first, as TOML requires, then its nested tables."""
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
    """List the keys in which two configurations differ, in order."""
    a, b = flatten(to_tree(left)), flatten(to_tree(right))
    return [Difference(key, a.get(key), b.get(key)) for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)]
