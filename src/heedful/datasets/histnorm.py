"""Historical spellings to modern ones, word by word in running text [Bollmann 2019]: the sets with an open licence.

The measure is the share of right words. Words recur, so a held-out word has often been seen; give the score of a plain
copy, too.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, final

from heedful.data.corpus import Pair
from heedful.data.lines import read_lines
from heedful.datasets.download import DownloadProgress
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, PublishedFile

COMMIT = "0eac17927d3a3fa5cc4e2472d57f3acca41c6655"
REPOSITORY = f"https://raw.githubusercontent.com/coastalcph/histnorm/{COMMIT}"
PREFIX = "histnorm-"


class _HistnormCorpus(NamedTuple):
    """Facts about one of the data sets."""

    language: str
    what: str
    licence: str
    lines: dict[str, int]  # of each split, with those that hold no word


CORPORA = {
    "german-ridges": _HistnormCorpus(
        "german", "science, 1482 to 1652", "CC BY 3.0", {"train": 51_908, "dev": 11_999, "test": 11_923}
    ),
    "german-anselm": _HistnormCorpus(
        "german", "religion, 14th to 16th century", "CC BY-SA 3.0", {"train": 233_937, "dev": 45_996, "test": 45_999}
    ),
    "slovene-goo300k-bohoric": _HistnormCorpus(
        "slovene", "1750 to the 1840s", "CC BY-SA 4.0", {"train": 60_811, "dev": 7_131, "test": 7_753}
    ),
}
BASE_URLS = {  # by name
    PREFIX + stem: f"{REPOSITORY}/datasets/historical/{corpus.language}" for stem, corpus in CORPORA.items()
}


@final
class Histnorm(DataSet):
    """One of the data sets; spelt in characters."""

    def __init__(self, name: str, place: FileLocation) -> None:
        self._stem = name.removeprefix(PREFIX)
        self._corpus = CORPORA[self._stem]
        language = self._corpus.language.capitalize()
        self.about = DataSetFacts(
            name=name,
            description=f"historical spellings to modern ones: {self._corpus.what}",
            licence=self._corpus.licence,
            source_language=f"historical {language}",
            target_language=f"modern {language}",
            splits=tuple(self._corpus.lines),
            group="none (running text: the same words are in all splits)",
            form="words",
        )
        self._place = place

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        return read_forms(self._place.path(self._file(split)))

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        return [self._place.path(self._file(split), progress) for split in self.about.splits]

    def _file(self, split: str) -> PublishedFile:
        # No checksum: the copies that we know are compressed anew.
        return PublishedFile(f"{self._stem}.{split}.txt", self._corpus.lines[split], None)


def read_forms(path: Path) -> Iterator[Pair]:
    """Read the first two columns of each line, without blanks around them; lines that lack one of the two are left out.

    Such are the ends of sentences, and a word here and there for which the editors gave no modern form.
    """
    for line in read_lines(path):
        old, new, *_ = (*(cell.strip() for cell in line.split("\t")), "", "")
        if old and new:
            yield Pair(old, new)
