"""What to say of a configuration that cannot be: which key, where it was set, what was expected, and the way out.

Knows what pydantic says, and no file.
"""

import difflib
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from heedful.errors import ConfigError
from heedful.sections import every_key, other_kinds, own_keys, section_at, section_for, tag_at
from heedful.toml import Layer, Tree, origin_of, place_of, sets


def explained(error: ErrorDetails, kind: type[BaseModel], values: Tree, layers: Sequence[Layer]) -> ConfigError:
    """Explain pydantic's first error, with its place and the way out."""
    path = own_keys(kind, error["loc"])
    key, found = ".".join(path), error.get("input")
    if error["type"] in ("missing", "too_long", "too_short") and isinstance(found, list | tuple):
        what = "has entries missing" if error["type"] == "missing" else error["msg"].split(" after")[0]
        what = what.replace("Tuple should have", "must have")
        return ConfigError(f"{place_of([path], layers)}`{key}` {what}: {found!r}.", hint=_meaning(kind, path, values))
    if error["type"] == "missing":
        is_table = len(path) == 1 and section_for(kind.model_fields[key].annotation, None)
        hint = f"Add it, as {f'a table [{key}]' if is_table else f'`{key} = ...`'}. {_meaning(kind, path, values)}"
        return ConfigError(f"`{key}` is required and has no default.", hint=hint)
    if error["type"] == "value_error":  # from a validator of ours, often about several keys of one table
        message = error["msg"].removeprefix("Value error, ")
        named = [[*path, *name.split(".")] for name in _keys_in(message, section_at(kind, path, values))]
        subject = "" if not key else f"[{key}]: " if isinstance(found, dict) else f"`{key}`: "
        place = place_of(named, layers) or place_of([path], layers)
        return ConfigError(f"{place}{subject}{message}.")
    if error["type"].startswith("union_tag") and isinstance(found, dict):
        return _unknown_kind(error, path, tag_at(kind, path), layers)
    place = place_of([path], layers)
    if error["type"] == "extra_forbidden":
        if other := _key_of_another_kind(kind, path, values, layers):
            return other
        return ConfigError(f"{place}unknown key `{key}`.", hint=_nearest(kind, path, values))
    no_table = error["type"] in ("model_type", "union_tag_not_found")
    said = error["msg"].replace("a valid tuple", "a list, in brackets")
    wanted = "must be a table" if no_table else re.sub("^Input should", "must", said)
    but = "a table" if isinstance(found, dict) else repr(found)
    message = f"{place}`{key}` {wanted[:1].lower()}{wanted[1:]}, but is {but}."
    return ConfigError(message, hint=_suggestion(error) or _meaning(kind, path, values))


def _keys_in(message: str, section: type[BaseModel] | None) -> list[str]:
    """Find the keys that a message of ours names, with marks or, as words of the section's own, without."""
    plain = [] if section is None else [word for word in re.findall(r"\w+", message) if word in section.model_fields]
    return re.findall(r"`([\w.]+)`", message) or plain


def _key_of_another_kind(
    kind: type[BaseModel], path: list[str], values: Tree, layers: Sequence[Layer]
) -> ConfigError | None:
    """Explain a key of a kind that a later layer has changed: the former kind's key is left over."""
    kinds = _kinds_with(kind, path, values)
    tag = tag_at(kind, path[:-1])
    chosen = [*path[:-1], tag]
    key_set, kind_set = ([n for n, layer in enumerate(layers) if sets(layer.values, one)] for one in (path, chosen))
    if not kinds or max(kind_set, default=-1) <= max(key_set, default=-1):
        return None
    new = values[path[0]][tag]
    where = origin_of(path, layers)
    message = f'{place_of([chosen], layers)}`{".".join(chosen)}` = "{new}" has no `{path[-1]}`, which {where} sets.'
    hint = f'That is a table of {tag} = "{kinds[0]}": write another recipe for "{new}" (heedful init).'
    return ConfigError(message, hint=hint)


def _kinds_with(kind: type[BaseModel], path: Sequence[str], values: Tree) -> list[str]:
    """List the other kinds of the table at this path that have its key."""
    return other_kinds(kind.model_fields[path[0]].annotation, values[path[0]], path[1]) if len(path) == 2 else []


def _unknown_kind(error: ErrorDetails, table: Sequence[str], tag: str, layers: Sequence[Layer]) -> ConfigError:
    """Explain a table whose kind does not exist."""
    path = [*table, tag]
    found, known = error["input"][tag], re.findall(r"'([^']*)'", error.get("ctx", {}).get("expected_tags", ""))
    near = difflib.get_close_matches(str(found), known, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else "`heedful config schema` lists what there is."
    return ConfigError(f"{place_of([path], layers)}`{'.'.join(path)}` cannot be {found!r}.", hint=hint)


def _nearest(kind: type[BaseModel], path: Sequence[str], values: Tree) -> str:
    """Suggest a way out of an unknown key: a sibling of similar name, this name in another table, or the siblings."""
    *table, name = path
    keys = [key.split(".") for key in every_key(kind, values)]
    siblings = [key[-1] for key in keys if key[:-1] == table]
    if kinds := _kinds_with(kind, path, values):
        return f'It is a key of `{table[0]}.{tag_at(kind, table)}` = "{kinds[0]}".'
    best = difflib.get_close_matches(name, list(dict.fromkeys([*siblings, *(key[-1] for key in keys)])), n=1)
    meant = [key for key in keys if [key[-1]] == best]
    meant = [key for key in meant if key[:-1] == table] or meant
    if meant:
        return f"Did you mean {' or '.join('`' + '.'.join(key) + '`' for key in meant[:3])}?"
    return f"Known keys here: {', '.join(sorted(siblings))}."


def _suggestion(error: ErrorDetails) -> str | None:
    """Suggest a way out of a wrong value, where one is known."""
    found = error.get("input")
    if error["type"] == "bool_type" and isinstance(found, str):
        return "TOML writes truth values as true and false."
    if error["type"] == "literal_error" and isinstance(found, str):
        allowed = re.findall(r"'([^']*)'", error["msg"])
        near = difflib.get_close_matches(found, allowed, n=1)
        return f"Did you mean `{near[0]}`?" if near else None
    return None


def _meaning(kind: type[BaseModel], path: Sequence[str], values: Any) -> str:
    """Return the description of a key; else where to find one."""
    for name in path[:-1]:
        values = values.get(name)
        kind = section_for(kind.model_fields[name].annotation, values) or kind
    field = kind.model_fields.get(path[-1]) if path else None
    if field is None or not field.description:
        return "`heedful init` writes a recipe with every key, its default and what it is for."
    return f"`{path[-1]}`: {field.description}."
