"""The English Web Treebank of Universal Dependencies, release 2.16: words to parts of speech [Silveira 2014].

The measure is the share of right tags.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import final

from heedful.data.corpus import Pair
from heedful.data.lines import read_lines
from heedful.datasets.download import DownloadProgress
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, PublishedFile
from heedful.errors import HeedfulError

COMMIT = "15d613d8447b3478787d4c278730a1e48a945efb"
BASE_URL = f"https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/{COMMIT}"
FILES = {
    "train": PublishedFile(
        "en_ewt-ud-train.conllu", 247_862, "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b"
    ),
    "dev": PublishedFile(
        "en_ewt-ud-dev.conllu", 32_581, "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6"
    ),
    "test": PublishedFile(
        "en_ewt-ud-test.conllu", 32_851, "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd"
    ),
}
NAMES = ("ewt-upos",)
COLUMNS = 10


@final
class Ewt(DataSet):
    """Sentences of weblogs, newsgroups, mails, reviews and answers; a tag for each word."""

    def __init__(self, name: str, place: FileLocation) -> None:
        self.about = DataSetFacts(
            name=name,
            description="parts of speech of English web text: 12,544 sentences, 17 tags",
            licence="CC BY-SA 4.0 (annotations; the texts are those of the English Web Treebank)",
            source_language="English",
            target_language="UPOS tags",
            splits=tuple(FILES),
            group="a document",
            form="tags",
        )
        self._place = place

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        return read_conllu(self._place.path(FILES[split]))

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        return [self._place.path(file, progress) for file in FILES.values()]


def read_conllu(path: Path) -> Iterator[Pair]:
    """Read the words of each sentence of a CoNLL-U file and their UPOS tags.

    Comments, the surface forms of several words (`3-4`) and words that are not written (`3.1`) are left out. Raises
    HeedfulError with the line where it has not ten columns, or a word is none: a blank in it would part it in two.
    """
    words: list[str] = []
    tags: list[str] = []
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            if words:
                yield Pair(" ".join(words), " ".join(tags))
            words, tags = [], []
        elif not text.startswith("#"):
            columns = text.split("\t")
            if len(columns) != COLUMNS:
                hint = "Is it a CoNLL-U file? Its columns are parted by tabs."
                raise HeedfulError(f"{path}:{line}: {len(columns)} column(s) instead of {COLUMNS}.", hint=hint)
            number, form, tag = columns[0], columns[1], columns[3]
            if number.isdecimal():
                if any(len(cell.split()) != 1 for cell in (form, tag)):
                    raise HeedfulError(f"{path}:{line}: not one word and one tag: `{form}`, `{tag}`.")
                words.append(form)
                tags.append(tag)
    if words:
        yield Pair(" ".join(words), " ".join(tags))
