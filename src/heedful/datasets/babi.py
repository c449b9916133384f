"""bAbI: twenty tasks of questions about stories, with the sentences that support each answer [Weston 2015].

The measure is the share of right answers; a task counts as failed below 95%.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, final

from heedful.data.corpus import Pair
from heedful.data.lines import read_lines
from heedful.datasets.download import DownloadProgress
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, PublishedFile
from heedful.datasets.synthetic import PART
from heedful.errors import HeedfulError

COMMIT = "0bf9e2c84ba500cecafe2c27519c500a65154a93"
BASE_URL = f"https://raw.githubusercontent.com/patrickachase/dynamic-memory-networks/{COMMIT}/data/babi/tasks_1-20_v1-2"
PREFIX = "babi-"
TASKS = {  # number -> (what it asks for, as its files are called; lines of train; lines of test)
    1: ("single-supporting-fact", 3_000, 3_000),
    2: ("two-supporting-facts", 5_338, 5_398),
    3: ("three-supporting-facts", 15_796, 15_710),
    4: ("two-arg-relations", 3_000, 3_000),
    5: ("three-arg-relations", 6_038, 6_290),
    6: ("yes-no-questions", 3_066, 3_050),
    7: ("counting", 3_638, 3_470),
    8: ("lists-sets", 3_634, 3_710),
    9: ("simple-negation", 3_000, 3_000),
    10: ("indefinite-knowledge", 3_000, 3_000),
    11: ("basic-coreference", 3_000, 3_000),
    12: ("conjunction", 3_000, 3_000),
    13: ("compound-coreference", 3_000, 3_000),
    14: ("time-reasoning", 3_372, 3_352),
    15: ("basic-deduction", 3_000, 3_000),
    16: ("basic-induction", 10_000, 10_000),
    17: ("positional-reasoning", 1_250, 1_250),
    18: ("size-reasoning", 2_230, 2_210),
    19: ("path-finding", 6_000, 6_000),
    20: ("agents-motivations", 2_000, 2_000),
}
NAMES = tuple(f"{PREFIX}{number}" for number in TASKS)
LINE = re.compile(r"(?P<number>\d+) (?P<text>[^\t]+)(?:\t(?P<answer>\S+)\t(?P<facts>\d+(?: \d+)*))?\s*")
WORD = re.compile(r"\w+")


class Question(NamedTuple):
    """A question about what a story has told so far."""

    pair: Pair  # sentence ||| sentence ||| question, and the answer
    facts: list[int]  # which sentences of the source support the answer, from 0


Story = list[Question]


@final
class Babi(DataSet):
    """One task with 1,000 questions to train on, of which those of the last tenth of the stories are dev."""

    def __init__(self, name: str, place: FileLocation) -> None:
        self._number = int(name.removeprefix(PREFIX))
        what = TASKS[self._number][0].replace("-", " ")
        self.about = DataSetFacts(
            name=name,
            description=f"questions about stories: {what}; 1,000 to train and choose on",
            licence="CC BY 3.0 (Facebook)",
            source_language="English",
            target_language="a word",
            splits=("train", "dev", "test"),
            group="a story",
            form="label",
        )
        self._place = place

    def read(self, split: str) -> Iterable[Pair]:
        return [question.pair for question in self._questions(split)]

    def supporting_facts(self, split: str) -> list[list[int]]:
        """List for each pair of `read(split)` the sentences of its source that support the answer, from 0, as
        published.
        """
        return [question.facts for question in self._questions(split)]

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        return [self._place.path(self._file(split), progress) for split in ("train", "test")]

    def _questions(self, split: str) -> Iterator[Question]:
        self.require(split)
        stories = list(read_stories(self._place.path(self._file("test" if split == "test" else "train"))))
        held_out = max(1, len(stories) // 10)
        chosen = {"train": stories[:-held_out], "dev": stories[-held_out:], "test": stories}[split]
        return (question for story in chosen for question in story)

    def _file(self, split: str) -> PublishedFile:
        stem, train, test = TASKS[self._number]
        # No checksum: the copies that we know are compressed anew.
        return PublishedFile(f"en/qa{self._number}_{stem}_{split}.txt", train if split == "train" else test, None)


def read_stories(path: Path) -> Iterator[Story]:
    """Read the stories of a file with their questions; the line numbered 1 begins one.

    Words are in lower case, without full stops, commas and question marks. A list of answers stays one word, joined by
    commas. Raises HeedfulError with the line where it is none of the form, or supports an answer by what is no sentence
    before it.
    """
    story: Story = []
    sentences: dict[int, str] = {}  # by their number in the story
    for line, text in enumerate(read_lines(path), start=1):
        found = LINE.fullmatch(text)
        if found is None:
            hint = "A line is `NUMBER sentence`, or `NUMBER question<TAB>answer<TAB>NUMBERS`."
            raise HeedfulError(f"{path}:{line}: not a line of a story: {text[:60]}", hint=hint)
        if found["number"] == "1":
            if story:
                yield story
            story, sentences = [], {}
        words = " ".join(WORD.findall(found["text"].lower()))
        if found["answer"] is None:
            sentences[int(found["number"])] = words
            continue
        facts = [int(number) for number in found["facts"].split()]
        if missing := [number for number in facts if number not in sentences]:
            raise HeedfulError(f"{path}:{line}: the answer rests on line {missing[0]}, which is no sentence before it.")
        source = f" {PART} ".join([*sentences.values(), words])
        story.append(Question(Pair(source, found["answer"].lower()), [list(sentences).index(fact) for fact in facts]))
    if story:
        yield story
