"""What a configuration class is made of: its keys, the tables inside it, tables that come in several kinds, and
settings that belong to certain choices only.

A field may hold one of several tables; each of them has a `kind` (or `method`) with a value of its own, and the table
that is written says which it is. Where it does not, it is the first. Knows no file.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import BaseModel, Discriminator

TAGS = ("kind", "method")  # the keys by which one of several tables says which it is


def tag_of(section: type[BaseModel]) -> str | None:
    """Return the key by which a table says which of several it is; None where there is only one table."""
    return next((tag for tag in TAGS if tag in section.model_fields), None)


def tag_at(kind: type[BaseModel], path: Sequence[str]) -> str:
    """Return the key by which the table at this path says of which kind it is."""
    section = kind
    for name in path:
        section = sections_in(section.model_fields[name].annotation)[0]
    return tag_of(section) or TAGS[0]


def kind_of(value: Any, usual: str, tag: str = "kind") -> str | None:
    """Return the kind that a table of values, or a configuration made of one, names; None for what is no table."""
    found = value.get(tag, usual) if isinstance(value, Mapping) else getattr(value, tag, None)
    return found if isinstance(found, str) else None


def by_kind(usual: str, tag: str = "kind") -> Discriminator:
    """Make pydantic choose among tables by their `kind`, or another tag, which may be left out where it is the usual
    one.
    """
    return Discriminator(lambda value: kind_of(value, usual, tag))


def only_with(choices: Mapping[str, Collection[Any]]) -> dict[str, Any]:
    """Declare, as a field's `json_schema_extra`, with which values of other fields the field has any effect.

    `only_with({"encoder": ("gru", "lstm")})`: with any other encoder it does nothing, and may not be set.
    """
    return {"only_with": {choice: list(values) for choice, values in choices.items()}}


def unused_settings(kind: type[BaseModel], values: Mapping[str, Any]) -> set[str]:
    """Find the settings of a configuration with these values that have no effect, because of what others are."""
    return {name for name, _ in _unused(kind, values)}


def refuse_unused(config: BaseModel) -> None:
    """Raise ValueError for a setting that is not at its default and has no effect."""
    values = {name: getattr(config, name) for name in type(config).model_fields}
    for name, choice in _unused(type(config), values):
        default = type(config).model_fields[name].default
        if values[name] == default:
            continue
        wanted = " or ".join(json.dumps(value) for value in _only_with(type(config), name)[choice])
        way_out = f"leave it out, or set it to {json.dumps(default)}" if default is not None else "leave it out"
        raise ValueError(f"`{name}` is of `{choice}` = {wanted}, but that is {json.dumps(values[choice])}: {way_out}")


def _unused(kind: type[BaseModel], values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings without effect, each with the choice that makes it so."""
    for name in kind.model_fields:
        for choice, effective in _only_with(kind, name).items():
            if values.get(choice, kind.model_fields[choice].default) not in effective:
                yield name, choice
                break


def _only_with(kind: type[BaseModel], name: str) -> dict[str, list[Any]]:
    extra = kind.model_fields[name].json_schema_extra
    return cast(dict[str, list[Any]], extra.get("only_with", {})) if isinstance(extra, dict) else {}


def sections_in(annotation: Any) -> list[type[BaseModel]]:
    """List the configuration classes inside `X`, `X | None`, ..."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for argument in getattr(annotation, "__args__", ()) for section in sections_in(argument)]


def section_for(annotation: Any, values: Any) -> type[BaseModel] | None:
    """Return the class of the table that these values are for; None where the annotation holds no table."""
    sections = sections_in(annotation)
    if len(sections) > 1 and isinstance(values, Mapping):
        return next((section for section in sections if values.get(tag_of(section)) in _kinds(section)), sections[0])
    return sections[0] if sections else None


def other_kinds(annotation: Any, values: Any, key: str) -> list[str]:
    """List the kinds of this table, apart from the one that the values are for, that have a key."""
    chosen = section_for(annotation, values)
    others = [section for section in sections_in(annotation) if section is not chosen]
    return [kind for section in others if key in section.model_fields for kind in _kinds(section)]


def _kinds(section: type[BaseModel]) -> tuple[str, ...]:
    tag = tag_of(section)
    return get_args(section.model_fields[tag].annotation) if tag is not None else ()


def own_keys(kind: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return pydantic's location of an error as keys: without list indices, and without the kinds of tables."""
    keys: list[str] = []
    section, of_kind = kind, dict[str, type[BaseModel]]()
    for part in location:
        if not isinstance(part, str):
            continue
        if part in of_kind:
            section, of_kind = of_kind[part], {}
            continue
        keys.append(part)
        field = section.model_fields.get(part)
        inner = sections_in(field.annotation) if field else []
        of_kind = {name: one for one in inner for name in _kinds(one)} if len(inner) > 1 else {}
        section = inner[0] if inner else section
    return keys


def section_at(kind: type[BaseModel], path: Sequence[str], values: Any) -> type[BaseModel] | None:
    """Return the class of the table at this path; None where there is none."""
    section: type[BaseModel] | None = kind
    for name in path:
        if section is None or name not in section.model_fields:
            return None
        values = values.get(name) if isinstance(values, Mapping) else None
        section = section_for(section.model_fields[name].annotation, values)
    return section


def wants_text(kind: type[BaseModel], path: Sequence[str], values: Any) -> bool:
    """Return whether the key at this path holds text, and the values have a number, a date or a boolean there."""
    section = section_at(kind, path[:-1], values)
    if section is None or path[-1] not in section.model_fields:
        return False
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    types = _plain_types(section.model_fields[path[-1]].annotation)
    return str in types and not isinstance(values, str | list | dict | None) and type(values) not in types


def _plain_types(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _plain_types(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [one for inner in get_args(annotation) for one in _plain_types(inner)]
    return [annotation]


def every_key(kind: type[BaseModel], values: Any, prefix: str = "") -> Iterator[str]:
    """Yield every dotted key that a configuration of this class can hold, in the kinds of tables that the values are
    for.
    """
    for name, field in kind.model_fields.items():
        yield prefix + name
        inner = values.get(name) if isinstance(values, Mapping) else None
        section = section_for(field.annotation, inner)
        if section is not None:
            yield from every_key(section, inner, f"{prefix}{name}.")
