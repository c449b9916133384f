"""What a named data set is.

Knows none of them: see `heedful.datasets.catalogue`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from heedful.data.corpus import Pair
from heedful.datasets.download import DownloadProgress
from heedful.errors import ConfigError


class DataSetFacts(NamedTuple):
    """Facts about a data set, known before it is fetched."""

    name: str
    description: str
    licence: str
    source_language: str
    target_language: str
    splits: tuple[str, ...]
    group: str  # what never lies in two splits
    form: str = "sentences"  # sentences | words (spelt) | tags (one a word) | label (one a source) | speech


class DataSet(ABC):
    """A named data set at its place. Nothing is fetched before it is asked for."""

    about: DataSetFacts

    @abstractmethod
    def read(self, split: str) -> Iterable[Pair]:
        """Read the pairs of a split in their order. Where a source has several right targets, dev and test have it
        once.
        """

    def references(self, split: str) -> list[list[str]]:
        """Return all right targets of each pair of `read(split)`, in the same order."""
        return [[pair.target] for pair in self.read(split)]

    def tokenised_references(self, split: str) -> list[str] | None:
        """Return the references in the form that the published protocol scores, where it has one of its own."""
        self.require(split)
        return None

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        """Have all files of all splits here, and say where."""
        return []

    def require(self, split: str) -> None:
        """Raise ConfigError unless there is such a split."""
        check_choice(split, self.about.splits, f"{self.about.name} has no split")


def check_choice(value: str, choices: Sequence[str], what: str) -> None:
    """Raise ConfigError, with all choices, unless the value is one of them."""
    if value not in choices:
        raise ConfigError(f"{what} `{value}`.", hint=f"There are: {', '.join(choices)}.")
