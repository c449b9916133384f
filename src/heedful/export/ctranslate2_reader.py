"""The package ctranslate2 and a folder of it: token strings, precisions, threads. Knows no search and no text."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, final

import torch

from heedful.errors import HeedfulError
from heedful.export.optional_packages import package
from heedful.text.vocabulary import EOS

MAP = "vmap.txt"  # the library's name for a lexical shortlist


def library() -> ModuleType:
    """Import the package ctranslate2."""
    return package("ctranslate2")


class Threads(NamedTuple):
    """Threads of the library: batches at the same time, and threads for each."""

    batches: int
    each: int


@final
class CTranslate2Folder:
    """A folder as the library reads it; opened when first used, and then kept."""

    def __init__(self, folder: Path, precision: str) -> None:
        """Open the folder. Raises HeedfulError where it lacks a vocabulary."""
        self.folder, self.precision = folder, precision
        self.source_tokens = _read_vocabulary(folder, "source")
        self.target_tokens = _read_vocabulary(folder, "target")
        self.target_ids = {token: index for index, token in enumerate(self.target_tokens)}
        self.end = self.target_tokens[EOS]
        self._opened: dict[Threads, Any] = {}

    @property
    def computing_type(self) -> str:
        """The precision of its products: that of the weights, or float32 where this processor lacks it."""
        known = library().get_supported_compute_types("cpu")
        return self.precision if self.precision in known else "float32"

    @property
    def has_shortlist(self) -> bool:
        """True where the library can restrict its outputs to those that a source calls for."""
        return (self.folder / MAP).is_file()

    def open(self, n_batches: int) -> Any:
        """Open the library's translator, with as many threads as torch may use: for batches side by side where there
        are enough of them, else all for one. Raises HeedfulError where the library is missing or cannot read the
        folder.
        """
        threads = torch.get_num_threads()
        shared = Threads(threads, 1) if n_batches >= threads else Threads(1, threads)
        if shared not in self._opened:
            options = {"inter_threads": shared.batches, "intra_threads": shared.each}
            try:
                opened = library().Translator(str(self.folder), compute_type=self.computing_type, **options)
            except (RuntimeError, ValueError) as error:
                hint = "Export the model again."
                raise HeedfulError(f"CTranslate2 cannot read {self.folder}: {error}.", hint=hint) from None
            finally:
                torch.set_num_threads(threads)  # the library sets its own number for the whole process
            self._opened[shared] = opened
        return self._opened[shared]


def _read_vocabulary(folder: Path, side: str) -> list[str]:
    """Read the strings of the tokens by id, as the library has them."""
    for name in ("shared", side):
        path = folder / f"{name}_vocabulary.json"
        if path.is_file():
            return json.loads(path.read_text("utf-8"))
    raise HeedfulError(f"{folder} has no {side} vocabulary.", hint="Copy the whole folder of the export.")
