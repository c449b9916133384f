"""Symbols and their ids, for tokenisers whose symbols are whole characters or whole words.

Knows nothing of how text is cut into symbols.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import final

from heedful.errors import HeedfulError
from heedful.text.atomic_files import write_bytes

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")  # in the order of their ids
UNKNOWN = "⁇"  # what an unknown id is in decoded text (U+2047), for every kind of tokeniser


@final
class Vocabulary:
    """A list of symbols; the id of a symbol is its place. The first four ids are PAD, UNK, BOS and EOS.

    A symbol of the text that looks like a special one ("<s>") is a symbol of its own, and never becomes the special id.
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        """Number `symbols`, those of the text without the special ones, in this order."""
        self._symbols = [*SPECIALS, *symbols]
        self._ids = {symbol: index for index, symbol in enumerate(self._symbols) if index >= len(SPECIALS)}
        if len(self._ids) + len(SPECIALS) != len(self._symbols):
            raise ValueError("`symbols` must differ from each other, but some symbol occurs twice.")

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], max_size: int) -> "Vocabulary":
        """Choose the most frequent symbols, in all at most `max_size` ids; symbols of equal count are in code point
        order.
        """
        if max_size <= len(SPECIALS):
            raise ValueError(f"`max_size` must exceed the {len(SPECIALS)} special symbols, but is {max_size}.")
        ranked = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
        return cls(ranked[: max_size - len(SPECIALS)])

    @classmethod
    def from_file(cls, path: Path) -> "Vocabulary":
        """Read what `to_file` wrote."""
        try:
            lines = path.read_bytes().decode("utf-8").split("\n")
        except FileNotFoundError:
            raise HeedfulError(f"No vocabulary at {path}.") from None
        except UnicodeDecodeError as error:
            raise HeedfulError(f"{path} is not UTF-8 text (byte {error.start}), so it is no vocabulary.") from None
        symbols = [_unescape(line) for line in lines[:-1]]  # the last line ends in a newline too
        if tuple(symbols[: len(SPECIALS)]) != SPECIALS or lines[-1]:
            hint = "It was changed, or is cut off: take it from the model's own folder again."
            wanted = f"its first lines must be {' '.join(SPECIALS)}, its last line whole"
            raise HeedfulError(f"{path} is no vocabulary: {wanted}.", hint=hint)
        try:
            return cls(symbols[len(SPECIALS) :])
        except ValueError:
            raise HeedfulError(f"{path} is no vocabulary: a symbol occurs twice.") from None

    def to_file(self, path: Path) -> None:
        """Write one symbol a line, the special ones first; line breaks and backslashes become \\n, \\r and \\\\."""
        write_bytes(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the file that `to_file` writes."""
        return "".join(_escape(symbol) + "\n" for symbol in self._symbols).encode("utf-8")

    def __len__(self) -> int:
        return len(self._symbols)

    def id(self, symbol: str) -> int:
        """Return the id of a symbol of the text; UNK where it is not in the vocabulary."""
        return self._ids.get(symbol, UNK)

    def ids(self, symbols: Iterable[str]) -> list[int]:
        """Return the ids of several symbols."""
        find = self._ids.get
        return [find(symbol, UNK) for symbol in symbols]

    def symbol(self, index: int) -> str:
        """Return the symbol with this id."""
        if not 0 <= index < len(self._symbols):
            raise ValueError(f"`index` must be in 0..{len(self._symbols) - 1}, but is {index}.")
        return self._symbols[index]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the file that `to_file` writes."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


def _escape(symbol: str) -> str:
    return symbol.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _unescape(line: str) -> str:
    parts = line.split("\\\\")  # outside of a double backslash, a single one starts an escape
    return "\\".join(part.replace("\\n", "\n").replace("\\r", "\r") for part in parts)
