"""What a configuration class is made of: its keys, the tables inside it, and tables that come in several kinds.

A field may hold one of several tables; each of them has a `kind` with a value of its own, and the table that is written
says which it is. Where it does not, it is the first. Knows no file and no message.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Discriminator

KIND = "kind"


def kind_of(value: Any, usual: str) -> str | None:
    """The kind that a table of values, or a configuration made of one, says it is; None for what is no table."""
    found = value.get(KIND, usual) if isinstance(value, Mapping) else getattr(value, KIND, None)
    return found if isinstance(found, str) else None


def by_kind(usual: str) -> Discriminator:
    """How pydantic chooses among tables: by their `kind`, which may be left out where it is the usual one."""
    return Discriminator(lambda value: kind_of(value, usual))


def sections_in(annotation: Any) -> list[type[BaseModel]]:
    """The configuration classes inside `X`, `X | None`, ..."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for argument in getattr(annotation, "__args__", ()) for section in sections_in(argument)]


def section_for(annotation: Any, values: Any) -> type[BaseModel] | None:
    """The class of the table that these values are for; None where the annotation holds no table."""
    sections = sections_in(annotation)
    if len(sections) > 1 and isinstance(values, Mapping):
        return next((section for section in sections if values.get(KIND) in _kinds(section)), sections[0])
    return sections[0] if sections else None


def other_kinds(annotation: Any, values: Any, key: str) -> list[str]:
    """The kinds of this table, apart from the one that the values are for, that know a key."""
    chosen = section_for(annotation, values)
    others = [section for section in sections_in(annotation) if section is not chosen]
    return [kind for section in others if key in section.model_fields for kind in _kinds(section)]


def _kinds(section: type[BaseModel]) -> tuple[str, ...]:
    return get_args(section.model_fields[KIND].annotation) if KIND in section.model_fields else ()


def own_keys(kind: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Pydantic's location of an error as keys: without places in lists, and without the kinds of tables."""
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
    """The class of the table at this path; None where there is none."""
    section: type[BaseModel] | None = kind
    for name in path:
        if section is None or name not in section.model_fields:
            return None
        values = values.get(name) if isinstance(values, Mapping) else None
        section = section_for(section.model_fields[name].annotation, values)
    return section


def wants_text(kind: type[BaseModel], path: Sequence[str], values: Any) -> bool:
    """Whether the key at this path holds text, and the values have a number, a date or a truth value there."""
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
    """Every dotted key that a configuration of this class can hold, in the kinds of tables that the values are for."""
    for name, field in kind.model_fields.items():
        yield prefix + name
        inner = values.get(name) if isinstance(values, Mapping) else None
        section = section_for(field.annotation, inner)
        if section is not None:
            yield from every_key(section, inner, f"{prefix}{name}.")
