"""A sentencepiece model from elsewhere, whose pieces a separate vocabulary numbers, as Marian keeps them.

Knows no special ids but ours: an import has renumbered the vocabulary.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import final

import sentencepiece

from heedful.config import to_toml
from heedful.text.atomic_files import write_bytes, write_text
from heedful.text.config import SideConfig
from heedful.text.interface import Tokenizer, settings_path
from heedful.text.normalise import BLANK_PIECE
from heedful.text.vocabulary import SPECIALS, UNK, UNKNOWN, Vocabulary

LANGUAGE_CODE = re.compile(r">>.*?<<", re.DOTALL)  # at the start of a source: the language to translate into


@final
class MarianPieceTokenizer(Tokenizer):
    """Subwords by a model that learned them elsewhere. A piece that the vocabulary lacks is UNK.

    The model normalises the text by its own rules. A language code such as ">>fra<<" at the start is one piece.
    """

    def __init__(self, config: SideConfig, model: bytes, vocabulary: Vocabulary) -> None:
        """Load `model`, the content of any sentencepiece model file. Raises RuntimeError where it is none."""
        super().__init__(config)
        self._model = model
        self._vocabulary = vocabulary
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def load(cls, config: SideConfig, model: Path) -> "MarianPieceTokenizer":
        """Read what `save` wrote; the vocabulary stands beside the model."""
        return cls(config, model.read_bytes(), Vocabulary.from_file(model.with_suffix(".vocab")))

    def save(self, folder: Path, name: str) -> None:
        """Write `tokenizer.NAME.toml`, `.spm` and `.vocab`."""
        write_bytes(folder / f"tokenizer.{name}.spm", self._model)
        write_bytes(folder / f"tokenizer.{name}.vocab", self._vocabulary.to_bytes())
        write_text(settings_path(folder, name), to_toml(self.config))

    def encode(self, text: str) -> list[int]:
        return self._vocabulary.ids(self.pieces(text))

    def pieces(self, text: str) -> list[str]:
        code = LANGUAGE_CODE.match(text)
        if code is None:
            return self._processor.encode(text, out_type=str)
        return [code[0], *self._processor.encode(text[code.end() :], out_type=str)]

    def decode(self, ids: Sequence[int]) -> str:
        shown = [index for index in ids if index == UNK or index >= len(SPECIALS)]
        text = self._processor.decode_pieces([UNKNOWN if index == UNK else self.symbol(index) for index in shown])
        return text.replace(BLANK_PIECE, " ").strip()  # the sign stays in pieces of the vocabulary that the model lacks

    def symbol(self, index: int) -> str:
        return self._vocabulary.symbol(index)

    def __len__(self) -> int:
        return len(self._vocabulary)

    def content(self) -> bytes:
        return self._vocabulary.to_bytes() + self._model
