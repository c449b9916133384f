"""What the rest of the program may ask of a tokeniser, and where one is kept in a folder.

Knows no kind of tokeniser.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from heedful.config import to_toml
from heedful.text.config import SideConfig
from heedful.text.files import write_bytes, write_text
from heedful.text.normalise import TextNormaliser


class Tokenizer(ABC):
    """Text to ids and back. `decode(encode(x))` is x up to `normalise`, as long as no symbol is unknown."""

    def __init__(self, config: SideConfig) -> None:
        self.config = config
        self.normalise = TextNormaliser.of(config)

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without BOS and EOS; those that are not known are UNK."""

    @abstractmethod
    def pieces(self, text: str) -> list[str]:
        """What the ids of `encode(text)` stand for, one string an id, as a reader wants to see it."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids: PAD, BOS and EOS vanish, UNK becomes the sign ⁇."""

    @abstractmethod
    def symbol(self, index: int) -> str:
        """What one id stands for, exactly. Raises ValueError where there is no such id."""

    def piece(self, index: int) -> str:
        """What one id stands for, as a reader wants to see it."""
        return self.symbol(index)

    def units(self, piece: str) -> Sequence[str]:
        """The parts of a piece that other pieces can share: the characters of a subword, else the piece itself."""
        return piece if self.config.kind in ("sentencepiece", "pieces") else [piece]

    @abstractmethod
    def __len__(self) -> int:
        """V, the number of ids."""

    @abstractmethod
    def content(self) -> bytes:
        """What was learned from text, as bytes: all of it that decides `encode` and `decode`."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text, faster than one by one where the kind allows."""
        return [self.encode(text) for text in texts]

    @property
    def samples(self) -> bool:
        """Whether `sample` differs from `encode`."""
        return self.config.sampling > 0

    def sample(self, text: str, seed: int) -> list[int]:
        """One random segmentation, a function of the text and the seed alone; `encode(text)` where sampling is off."""
        return self.encode(text)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides `encode` and `decode` (sampling does not)."""
        separator = f" {self.config.separator}" if self.config.separator else ""
        settings = f"{self.config.kind} {self.normalise}{separator}\n"
        return hashlib.sha256(settings.encode() + self.content()).hexdigest()

    def save(self, folder: Path, name: str) -> None:
        """Write `tokenizer.NAME.toml` (the settings), and `tokenizer.NAME.vocab` or `.spm` (what was learned)."""
        write_bytes(content_path(folder, name, self.config), self.content())
        write_text(settings_path(folder, name), to_toml(self.config))


def settings_path(folder: Path, name: str) -> Path:
    """Where a tokeniser's settings are kept."""
    return folder / f"tokenizer.{name}.toml"


def content_path(folder: Path, name: str, config: SideConfig) -> Path:
    """Where what it learned is kept."""
    return folder / f"tokenizer.{name}.{'spm' if config.kind in ('sentencepiece', 'pieces') else 'vocab'}"
