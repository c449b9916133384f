"""Snips: voice commands, with what is meant and the words that say the details [Coucke 2018].

The files are the tokenised ones of Goo and others (2018), with their splits. Measures: F1 of exact spans for the
details (slots), the share of right labels for what is meant (the intent).
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import final

from heedful.data.corpus import Pair, read_pairs
from heedful.datasets.download import DownloadProgress
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, PublishedFile
from heedful.errors import HeedfulError

COMMIT = "61f0307c729b1fad479ef1de94aa5ac5dee601b0"
BASE_URL = f"https://raw.githubusercontent.com/MiuLab/SlotGated-SLU/{COMMIT}/data/snips"
WORDS = "seq.in"
TARGETS = {"snips-slots": "seq.out", "snips-intent": "label"}
NAMES = tuple(TARGETS)
SPLITS = {"train": ("train", 13_084), "dev": ("valid", 700), "test": ("test", 700)}  # folder and lines of each


@final
class Snips(DataSet):
    """Words of a command to BIO tags of 39 kinds of details, or to one of seven intents."""

    def __init__(self, name: str, place: FileLocation) -> None:
        slots = name == "snips-slots"
        self.about = DataSetFacts(
            name=name,
            description=f"voice commands: {'words that are details, 39 kinds' if slots else 'what is meant, 7 labels'}",
            licence="CC0 1.0 (the commands; cite Coucke 2018); none stated for the tokenised files",
            source_language="English",
            target_language="BIO tags" if slots else "a label",
            splits=tuple(SPLITS),
            group="none",
            form="tags" if slots else "label",
        )
        self._place = place

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        words, targets = (self._place.path(_file(split, name)) for name in (WORDS, TARGETS[self.about.name]))
        if self.about.name == "snips-slots":
            return read_tags(words, targets)
        return (Pair(source.strip(), target.strip()) for source, target in read_pairs([words, targets]))

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        names = (WORDS, TARGETS[self.about.name])
        return [self._place.path(_file(split, name), progress) for split in SPLITS for name in names]


def _file(split: str, name: str) -> PublishedFile:
    folder, lines = SPLITS[split]
    # No checksum: the copies that we know are not said to be the published bytes.
    return PublishedFile(f"{folder}/{name}", lines, None)


def read_tags(words: Path, tags: Path) -> Iterator[Pair]:
    """Read two files; line n of one has a tag for each word of line n of the other.

    Raises HeedfulError with the line where it has not.
    """
    for line, (source, target) in enumerate(read_pairs([words, tags]), start=1):
        if len(source.split()) != len(target.split()):
            counts = f"{len(target.split())} tag(s) for {len(source.split())} word(s)"
            raise HeedfulError(f"{tags}:{line}: {counts}.", hint=f"Are both of one version? See {words}:{line}.")
        yield Pair(" ".join(source.split()), " ".join(target.split()))
