"""MultiBooked: hotel reviews in Catalan and Basque, with what they speak of and what they say of it [Barnes 2018].

The files are those of SemEval-2022, task 10, with its splits. The measure is F1 of exact spans.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, final

from heedful.data.corpus import Pair
from heedful.data.lines import read_lines
from heedful.datasets.download import DownloadProgress
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, PublishedFile
from heedful.errors import HeedfulError

COMMIT = "aa65f2c9fd65a1b7f31b96878da8912b8ff3f67c"
REPOSITORY = f"https://raw.githubusercontent.com/jerbarnes/semeval22_structured_sentiment/{COMMIT}"
PREFIX = "multibooked-"
LANGUAGES = {"ca": "Catalan", "eu": "Basque"}
BASE_URLS = {PREFIX + code: f"{REPOSITORY}/data/multibooked_{code}" for code in LANGUAGES}  # by name
SIZES = {  # sentences of each split
    "ca": {"train": 1_174, "dev": 167, "test": 335},
    "eu": {"train": 1_063, "dev": 152, "test": 305},
}
CUT = {"ca": "one", "eu": "two"}  # reviews that the published splits cut in two
KINDS = {"Target": "target", "Polar_expression": "expression"}  # key of an opinion -> kind of the tags


class Span(NamedTuple):
    """Neighbouring words that belong together."""

    start: int  # the first word, from 0
    end: int  # behind the last word
    kind: str  # target or expression


class TaggedSentence(NamedTuple):
    """A sentence with a tag a word, and what did not fit."""

    words: list[str]
    tags: list[str]
    left_out: list[Span]  # for they overlap others


@final
class MultiBooked(DataSet):
    """One language: words to the tags B-target, I-target, B-expression, I-expression and O."""

    def __init__(self, name: str, place: FileLocation) -> None:
        self._code = name.removeprefix(PREFIX)
        sizes = SIZES[self._code]
        self.about = DataSetFacts(
            name=name,
            description=f"targets and expressions of opinions in hotel reviews: {sizes['train']:,} sentences",
            licence="CC BY-NC 3.0: non-commercial use only",
            source_language=LANGUAGES[self._code],
            target_language="BIO tags",
            splits=tuple(sizes),
            group=f"a review (but {CUT[self._code]} published in two splits)",
            form="tags",
        )
        self._place = place

    def read(self, split: str) -> Iterable[Pair]:
        return [Pair(" ".join(words), " ".join(tags)) for words, tags, _ in self._sentences(split)]

    def overlapping(self, split: str) -> int:
        """Count the spans of a split that have no tags, for they overlap others: see `tagged`."""
        return sum(len(sentence.left_out) for sentence in self._sentences(split))

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        return [self._place.path(_file(split), progress) for split in self.about.splits]

    def _sentences(self, split: str) -> list[TaggedSentence]:
        self.require(split)
        path = self._place.path(_file(split))
        sentences = list(read_opinions(path))
        if len(sentences) != (expected := SIZES[self._code][split]):
            hint = f"The folder is that of one language: is this the {LANGUAGES[self._code]} one?"
            raise HeedfulError(f"{path} has {len(sentences):,} sentences instead of {expected:,}.", hint=hint)
        return sentences


def _file(split: str) -> PublishedFile:
    return PublishedFile(f"{split}.json", 1, None)


def read_opinions(path: Path) -> Iterator[TaggedSentence]:
    """Read the sentences of a JSON file of SemEval-2022, task 10, as `tagged` has them.

    Raises HeedfulError with the number of the sentence where it is not of that form.
    """
    try:
        sentences = json.loads("\n".join(read_lines(path)))
    except (ValueError, RecursionError) as error:
        raise HeedfulError(f"{path}: not valid JSON: {error}.", hint="Is it the right file?") from None
    if not isinstance(sentences, list):
        raise HeedfulError(f"{path}: not a list of sentences.", hint="Is it the right file?")
    for number, sentence in enumerate(sentences, start=1):
        try:
            words = sentence["text"].split(" ")
            spans = [span for opinion in sentence["opinions"] for span in _spans(words, opinion)]
        except (KeyError, TypeError, ValueError, AttributeError):
            hint = 'It has a `text`, and `opinions` with lists of texts and of places such as "5:13".'
            raise HeedfulError(f"{path}: sentence {number} has no text with opinions in it.", hint=hint) from None
        yield tagged(words, spans)


def _spans(words: list[str], opinion: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans of an opinion. One in several pieces is several spans; a part of a word stands for the word."""
    for key, kind in KINDS.items():
        for offsets in opinion[key][1]:
            start, end = map(int, offsets.split(":"))
            touched = [place for place, (first, last) in enumerate(_places(words)) if first < end and last > start]
            if not touched:
                raise ValueError(offsets)
            yield Span(touched[0], touched[-1] + 1, kind)


def _places(words: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each word, in characters, with one blank between words."""
    start = 0
    for word in words:
        yield start, start + len(word)
        start += len(word) + 1


def tagged(words: list[str], spans: Iterable[Span]) -> TaggedSentence:
    """Tag the words of a sentence by spans. Of overlapping ones the longest is kept; of equally long ones the first,
    then a target.

    A span that several opinions share counts once.
    """
    tags = ["O"] * len(words)
    left_out = []
    for span in sorted(set(spans), key=lambda span: (span.start - span.end, span.start, span.kind != "target")):
        if any(tag != "O" for tag in tags[span.start : span.end]):
            left_out.append(span)
        else:
            inside = [f"I-{span.kind}"] * (span.end - span.start - 1)
            tags[span.start : span.end] = [f"B-{span.kind}", *inside]
    return TaggedSentence(words, tags, left_out)
