"""What the rest of the program may ask of a tokeniser, and where one is kept in a folder.

Knows no kind of tokeniser.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from heedful.config import to_toml
from heedful.text.atomic_files import write_bytes, write_text
from heedful.text.config import SideConfig
from heedful.text.normalise import TextNormaliser


class Tokenizer(ABC):
    """Text to ids and back. `decode(encode(x))` is x up to `normalise`, as long as no symbol is unknown."""

    def __init__(self, config: SideConfig) -> None:
        self.config = config
        self.normalise = TextNormaliser.of(config)

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Encode a text as ids, without BOS and EOS; unknown ones are UNK."""

    @abstractmethod
    def pieces(self, text: str) -> list[str]:
        """Return the readable pieces of the ids of `encode(text)`, one string an id."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids to text: PAD, BOS and EOS vanish, UNK becomes the sign ⁇."""

    @abstractmethod
    def symbol(self, index: int) -> str:
        """Return the exact symbol of one id. Raises ValueError where there is no such id."""

    def piece(self, index: int) -> str:
        """Return the readable form of one id's symbol."""
        return self.symbol(index)

    def units(self, piece: str) -> Sequence[str]:
        """Split a piece into parts that other pieces can share: the characters of a subword, else the piece itself."""
        return piece if self.config.kind in ("sentencepiece", "pieces") else [piece]

    @abstractmethod
    def __len__(self) -> int:
        """Return V, the number of ids."""

    @abstractmethod
    def content(self) -> bytes:
        """Return all that was learned from text and decides `encode` and `decode`, as bytes."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode each text, faster than one by one where the kind allows."""
        return [self.encode(text) for text in texts]

    @property
    def samples(self) -> bool:
        """True where `sample` differs from `encode`."""
        return self.config.sampling > 0

    def sample(self, text: str, seed: int) -> list[int]:
        """Draw one random segmentation, a function of the text and the seed alone; `encode(text)` where sampling is
        off.
        """
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
    """Return the path of a tokeniser's settings."""
    return folder / f"tokenizer.{name}.toml"


def content_path(folder: Path, name: str, config: SideConfig) -> Path:
    """Return the path of a tokeniser's model or vocabulary."""
    return folder / f"tokenizer.{name}.{'spm' if config.kind in ('sentencepiece', 'pieces') else 'vocab'}"
