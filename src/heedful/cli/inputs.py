"""The lines that `translate` reads, and what each asks of its output: plain text, columns, or JSON."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from heedful.cli.lines import read_chunks
from heedful.data.json_lines import parse_json, require_whole
from heedful.errors import ConfigError, HeedfulError
from heedful.records.files import to_json
from heedful.text.normalise import lone_surrogate

if TYPE_CHECKING:
    from heedful.decoding.rules import OutputRules

FORMATS = ("text", "tsv", "jsonl")
KEYS = ("source", "prefix", "require", "forbid")
TEXT_PLACE = Path("--text")  # what messages call the lines that the command line gives itself

Text = Annotated[
    list[str] | None, typer.Option("--text", metavar="TEXT", help="Translate this text, no file; may be given again.")
]


class Input(NamedTuple):
    """One line to translate."""

    source: str
    prefix: str = ""
    require: Sequence[str] = ()
    forbid: Sequence[str] = ()

    def with_all(self, prefix: str | None, require: list[str] | None, forbid: list[str] | None) -> "Input":
        """Add the rules that hold for every line; a prefix of its own stays."""
        phrases = [*self.require, *(require or [])], [*self.forbid, *(forbid or [])]
        return Input(self.source, self.prefix or prefix or "", *phrases)

    @property
    def rules(self) -> "OutputRules":
        """Required, forbidden and prefix texts of its output."""
        from heedful.decoding.rules import OutputRules

        return OutputRules(self.require, self.forbid)


class TranslationInput(NamedTuple):
    """Input of a translation: a file, or texts; its format; and the options that hold for every line."""

    file: Path
    texts: list[str] | None
    layout: str
    prefix: str | None = None
    require: list[str] | None = None
    forbid: list[str] | None = None

    @property
    def place(self) -> Path:
        """Name of the input in messages."""
        return self.file if self.texts is None else TEXT_PLACE

    def chunks(self, most: int) -> Iterator[list[Input]]:
        """Read its lines, up to so many at a time; of a pipe, those that have arrived.

        Raises ConfigError for options that cannot be, before anything is read, and HeedfulError with the number of a
        line that cannot be read.
        """
        self._check()
        if self.texts is not None:
            read: Iterator[list[Input]] = iter([[Input(text) for text in self.texts]])
        else:
            read = read_inputs(self.file, self.layout, most)
        for chunk in read:
            yield [one.with_all(self.prefix, self.require, self.forbid) for one in chunk]

    def _check(self) -> None:
        if self.layout not in FORMATS:
            hint = f"Known formats: {', '.join(FORMATS)}."
            raise ConfigError(f"--input-format {self.layout} is unknown.", hint=hint)
        if self.texts is not None and (str(self.file) != "-" or self.layout != "text"):
            other = f"the file {self.file}" if str(self.file) != "-" else "--input-format"
            raise ConfigError(f"--text and {other} exclude each other.", hint="Leave out one of the two.")
        if self.texts is None and str(self.file) != "-" and not os.path.exists(self.file):
            hint = "Use - for standard input, or --text TEXT to translate a text itself."
            raise ConfigError(f"There is no file {self.file}.", hint=hint)
        for option, texts in (("prefix", [self.prefix or ""]), ("require", self.require), ("forbid", self.forbid)):
            require_texts(f"--{option}", texts or [])
        require_texts("--text", self.texts or [])
        if both := sorted(set(self.require or ()) & set(self.forbid or ())):
            message = f"--require and --forbid both name {both[0]!r}: no output can hold it and not hold it."
            raise ConfigError(message, hint="Take one of the two back.")


def require_texts(option: str, texts: Sequence[str]) -> None:
    """Raise ConfigError for text of the command line that is no UTF-8, or more than one line."""
    for text in texts:
        if lone_surrogate(text) is not None:
            raise ConfigError(f"{option} {text!a} is no UTF-8 text.", hint="Does the terminal send UTF-8?")
        if "\n" in text:
            raise ConfigError(f"{option} {text!r} has several lines.", hint="Give one line each time.")


def read_inputs(path: Path, layout: str, most: int) -> Iterator[list[Input]]:
    """Read the lines of a file or of standard input in one of FORMATS; a blank line of JSON is a blank source, too.

    Raises HeedfulError with the number of a line that cannot be read.
    """
    number = 0
    for chunk in read_chunks(path, most):
        yield [_input(line, layout, f"{path}:{number + place}") for place, line in enumerate(chunk, start=1)]
        number += len(chunk)


def _input(line: str, layout: str, place: str) -> Input:
    if layout == "jsonl" and line.strip():
        return _parsed(line, place)
    if layout == "tsv":
        source, *phrases = line.split("\t")
        return Input(source, require=[phrase for phrase in phrases if phrase.strip()])
    return Input(line)


def _parsed(line: str, place: str) -> Input:
    hint = 'Such as {"source": "a text", "prefix": "a", "require": ["b c"], "forbid": ["d"]}; only `source` is needed.'
    found = parse_json(line, place, hint)
    if not isinstance(found, dict) or not isinstance(found.get("source"), str):
        raise HeedfulError(f"{place} is no JSON object with a text `source`.", hint=hint)
    for key, value in found.items():
        if key not in KEYS:
            raise HeedfulError(f"{place}: unknown key `{key}`.", hint=f"Known keys: {', '.join(KEYS)}.")
        texts = value if isinstance(value, list) else [value]
        if isinstance(value, list) != (key in ("require", "forbid")) or not all(isinstance(one, str) for one in texts):
            kind = "a list of texts" if key in ("require", "forbid") else "a text"
            raise HeedfulError(f"{place}: `{key}` must be {kind}, but is {to_json(value):.80}.", hint=hint)
        for text in texts:
            require_whole(text, f"{place}: `{key}`")
    return Input(**found)
