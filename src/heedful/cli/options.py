"""Options that say how outputs are found, and that several verbs share; each is written once.

Those of the settings of search are made from the fields of `heedful.decoding.config`.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from heedful.decoding.config import METHODS

Output = Annotated[Path | None, typer.Option(help="Write here, whole or not at all, instead of standard output.")]
NBest = Annotated[int, typer.Option(min=1, max=1000, help="Outputs a line: number, rank, score, text, by tabs.")]

Prefix = Annotated[str | None, typer.Option(help="Every output must begin with this.")]
Require = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="Every output must hold this; may be given again.")
]
Forbid = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="No output may hold this; may be given again.")]
InputFormat = Annotated[
    str,
    typer.Option(
        metavar="text|tsv|jsonl",
        help="tsv: source, then phrases that its output must hold; jsonl: source, prefix, require, forbid.",
    ),
]

Ensemble = Annotated[
    list[Path] | None, typer.Option(metavar="MODEL", help="Average with this model; may be given again.")
]
EnsembleMean = Annotated[
    str | None, typer.Option(metavar="arithmetic|geometric", help="Of probabilities (the default), or of logarithms.")
]

Engine = Annotated[
    str | None,
    typer.Option(metavar="native|ctranslate2|onnx", help="What computes; left out: native, or an export's own."),
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--type", metavar="float32|int8|bfloat16|auto", help="What it computes in; auto: the quickest, measured."
    ),
]


class SearchOption(NamedTuple):
    """A setting of search as an option of the command line."""

    setting: str
    flag: str
    type: Any
    choices: tuple[str, ...]
    help: str

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter by which typer knows it; not given, it is None, or False for a switch."""
        metavar = "|".join(self.choices) or None
        declared = Annotated[self.type, typer.Option(self.flag, metavar=metavar, help=self.help)]
        default = False if self.type is bool else None
        return inspect.Parameter(self.setting, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=declared)


def search_options() -> Iterator[SearchOption]:
    """Yield an option for each setting of each method of search, once."""
    fields: dict[str, FieldInfo] = {}
    for method in METHODS.values():
        for name, field in method.model_fields.items():
            fields.setdefault(name, field)
    for name, field in fields.items():
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        flag = extra.get("flag", f"--{name.replace('_', '-')}")
        if isinstance(flag, str):
            kind, choices = _option_type(field.annotation)
            said = field.description or ""
            yield SearchOption(name, flag, kind, choices, f"{said[:1].upper()}{said[1:]}.")


def _option_type(annotation: Any) -> tuple[Any, tuple[str, ...]]:
    """Return what typer reads for a field: its type or None, and the names to choose from, if there are any."""
    if get_origin(annotation) is Literal:
        return str | None, get_args(annotation)
    if annotation is bool:
        return bool, ()
    plain = next((part for part in get_args(annotation) if part is not NoneType), annotation)
    plain = get_args(plain)[0] if get_origin(plain) is Annotated else plain
    return plain | None, ()


def with_search_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each setting of search, in place of its parameter `search_changes`, in which it gets
    those that were given.
    """
    options = list(search_options())

    @wraps(command)
    def wrapped(**arguments: Any) -> None:
        given = {option.setting: arguments.pop(option.setting) for option in options}
        changes = {name: value for name, value in given.items() if value is not None and value is not False}
        command(**arguments, search_changes=changes)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        own = [option.parameter for option in options] if parameter.name == "search_changes" else [parameter]
        parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    wrapped.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped
