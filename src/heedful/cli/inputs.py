"""The lines that `translate` reads, and what each asks of its output: plain text, columns, or JSON."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.cli.lines import read_lines
from heedful.errors import ConfigError, HeedfulError

if TYPE_CHECKING:
    from heedful.decoding.rules import Rules

FORMATS = ("text", "tsv", "jsonl")
KEYS = ("source", "prefix", "require", "forbid")


class Input(NamedTuple):
    """One line to translate."""

    source: str
    prefix: str = ""
    require: Sequence[str] = ()
    forbid: Sequence[str] = ()

    def with_all(self, prefix: str | None, require: list[str] | None, forbid: list[str] | None) -> "Input":
        """With what is asked of every line; a prefix of its own stays."""
        phrases = [*self.require, *(require or [])], [*self.forbid, *(forbid or [])]
        return Input(self.source, self.prefix or prefix or "", *phrases)

    @property
    def rules(self) -> "Rules":
        """What its output must hold and must not hold."""
        from heedful.decoding.rules import Rules

        return Rules(self.require, self.forbid)


def read_inputs(path: Path, layout: str) -> Iterator[Input]:
    """The lines of a file or of standard input in one of FORMATS.

    Raises ConfigError for another format, and HeedfulError with the number of a line that cannot be read.
    """
    if layout not in FORMATS:
        raise ConfigError(f"--input-format {layout} is unknown.", hint=f"Known formats: {', '.join(FORMATS)}.")
    for number, line in enumerate(read_lines(path), start=1):
        if layout == "text":
            yield Input(line)
        elif layout == "tsv":
            source, *phrases = line.split("\t")
            yield Input(source, require=[phrase for phrase in phrases if phrase.strip()])
        else:
            yield _parsed(line, f"{path}:{number}")


def _parsed(line: str, place: str) -> Input:
    hint = 'Such as {"source": "a text", "prefix": "a", "require": ["b c"], "forbid": ["d"]}; only `source` is needed.'
    try:
        found: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise HeedfulError(f"{place} is no JSON ({error.msg}).", hint=hint) from None
    if not isinstance(found, dict) or not isinstance(found.get("source"), str):
        raise HeedfulError(f"{place} is no JSON object with a text `source`.", hint=hint)
    for key, value in found.items():
        if key not in KEYS:
            raise HeedfulError(f"{place}: unknown key `{key}`.", hint=f"Known keys: {', '.join(KEYS)}.")
        texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if not (texts if key in ("require", "forbid") else isinstance(value, str)):
            kind = "a list of texts" if key in ("require", "forbid") else "a text"
            raise HeedfulError(
                f"{place}: `{key}` must be {kind}, but is {json.dumps(value, ensure_ascii=False)}.", hint=hint
            )
    return Input(**found)
