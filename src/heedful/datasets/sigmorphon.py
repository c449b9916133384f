"""SIGMORPHON 2021 shared task 1: spelling to phones in 21 languages, from Wiktionary [Ashby 2021].

Its measures are the error rate of words and of phones.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import final

from heedful.data.corpus import Pair, read_pairs
from heedful.datasets.download import DownloadProgress
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, PublishedFile

COMMIT = "821bcdece5a47820872215969f275004b0abe80c"
BASE_URL = f"https://raw.githubusercontent.com/sigmorphon/2021-task1/{COMMIT}/data"
PREFIX = "sigmorphon2021-g2p-"
LINES = {  # level -> pairs of each split
    "high": {"train": 33_344, "dev": 4_168, "test": 4_168},
    "medium": {"train": 8_000, "dev": 1_000, "test": 1_000},
    "low": {"train": 800, "dev": 100, "test": 100},
}
LANGUAGES = {  # code -> (name, level)
    "eng_us": ("English (US)", "high"),
    "arm_e": ("Eastern Armenian", "medium"),
    "bul": ("Bulgarian", "medium"),
    "dut": ("Dutch", "medium"),
    "fre": ("French", "medium"),
    "geo": ("Georgian", "medium"),
    "hbs_latn": ("Serbo-Croatian (Latin script)", "medium"),
    "hun": ("Hungarian", "medium"),
    "jpn_hira": ("Japanese (Hiragana)", "medium"),
    "kor": ("Korean", "medium"),
    "vie_hanoi": ("Vietnamese (Hanoi)", "medium"),
    "ady": ("Adyghe", "low"),
    "gre": ("Greek", "low"),
    "ice": ("Icelandic", "low"),
    "ita": ("Italian", "low"),
    "khm": ("Khmer", "low"),
    "lav": ("Latvian", "low"),
    "mlt_latn": ("Maltese (Latin script)", "low"),
    "rum": ("Romanian", "low"),
    "slv": ("Slovenian", "low"),
    "wel_sw": ("Welsh (Southwest)", "low"),
}
NAMES = tuple(PREFIX + code for code in LANGUAGES)


@final
class Sigmorphon2021(DataSet):
    """One language of the shared task."""

    def __init__(self, name: str, place: FileLocation) -> None:
        self._code = name.removeprefix(PREFIX)
        language, self._level = LANGUAGES[self._code]
        lines = LINES[self._level]
        self.about = DataSetFacts(
            name=name,
            description=f"spelling to sound, level {self._level}: {lines['train']:,} words",
            licence="CC BY-SA 3.0 (Wiktionary, through WikiPron)",
            source_language=f"{language} spelling",
            target_language="IPA phones",
            splits=tuple(lines),
            group="a word",
            form="words",
        )
        self._place = place

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        return read_pairs([self._place.path(self._file(split))], "1", "2")

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        return [self._place.path(self._file(split), progress) for split in self.about.splits]

    def _file(self, split: str) -> PublishedFile:
        # No checksum: the copies that we know are not said to be the published bytes.
        return PublishedFile(f"{self._level}/{self._code}_{split}.tsv", LINES[self._level][split], None)
