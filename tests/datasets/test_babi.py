"""bAbI: stories by hand, the sentences that support an answer, and the published files."""

import gzip
from pathlib import Path

import pytest
from tests.datasets.server import serving

from heedful.data.config import DataConfig
from heedful.data.corpus import Pair
from heedful.datasets import babi, catalogue
from heedful.datasets.babi import Babi, read_stories
from heedful.datasets.published import FileLocation
from heedful.errors import HeedfulError
from heedful.recipe.splits import load_split

STORY = """\
1 Mary got the milk there.
2 John went, quickly, to the Hall.
3 What is Mary carrying? \tmilk\t1
4 Mary got the apple.
5 What is Mary carrying? \tmilk,Apple\t4 1
1 Bill is in the office.
2 Where is Bill?\toffice\t1
"""


class TestStories:
    def test_by_hand(self, tmp_path: Path) -> None:
        """Earlier questions are no sentences of a source, and places are those among its sentences."""
        (tmp_path / "a.txt").write_text(STORY)
        first, second = read_stories(tmp_path / "a.txt")
        told = "mary got the milk there ||| john went quickly to the hall"
        assert [question.pair for question in first] == [
            Pair(f"{told} ||| what is mary carrying", "milk"),
            Pair(f"{told} ||| mary got the apple ||| what is mary carrying", "milk,apple"),
        ]
        assert [question.facts for question in first] == [[0], [2, 0]]
        assert second == [babi.Question(Pair("bill is in the office ||| where is bill", "office"), [0])]

    @pytest.mark.parametrize("line", ["Bill is here.", "2 Who?\ta", "2 Who?\ttwo words\t1", "2 Who?\ta\tone"])
    def test_not_a_line(self, line: str, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text(f"1 Bill is here.\n{line}\n")
        with pytest.raises(HeedfulError, match=r"a\.txt:2: not a line of a story: ") as caught:
            list(read_stories(tmp_path / "a.txt"))
        assert (caught.value.hint or "").startswith("A line is `NUMBER sentence`")

    @pytest.mark.parametrize("number", [2, 3, 4])
    def test_support_by_no_sentence_before(self, number: int, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text(f"1 A is b.\n2 Who?\ta\t1\n3 Where?\toffice\t{number}\n4 C is d.\n")
        with pytest.raises(HeedfulError, match=rf"a\.txt:3: the answer rests on line {number}, which is no sentence"):
            list(read_stories(tmp_path / "a.txt"))


class TestPublished:
    def test_every_task(self, shared_data: Path) -> None:
        for name in babi.NAMES:
            data = DataConfig(catalogue=name, folder=str(shared_data / "babi"))
            sizes = {split: len(list(load_split(data, split))) for split in ("train", "dev", "test")}
            assert sizes["train"] + sizes["dev"] == sizes["test"] == 1000, name
            assert 85 <= sizes["dev"] <= 115, name  # stories have different numbers of questions

    def test_dev_is_the_last_tenth_of_the_stories(self, shared_data: Path) -> None:
        place = FileLocation(babi.BASE_URL, shared_data / "babi", Path("unused"))
        stories = list(read_stories(shared_data / "babi" / "en" / "qa1_single-supporting-fact_train.txt.gz"))
        assert len(stories) == 200
        data = Babi("babi-1", place)
        assert list(data.read("dev")) == [question.pair for story in stories[180:] for question in story]
        assert list(data.read("train")) == [question.pair for story in stories[:180] for question in story]

    def test_supporting_facts(self, shared_data: Path) -> None:
        """Task 1 asks where somebody is: the supporting sentence is the last that names them, and says the place."""
        data = Babi("babi-1", FileLocation(babi.BASE_URL, shared_data / "babi", Path("unused")))
        for split in ("dev", "test"):
            for pair, facts in zip(data.read(split), data.supporting_facts(split), strict=True):
                *sentences, question = [part.split() for part in pair.source.split(" ||| ")]
                person = question[2]
                assert facts == [max(place for place, words in enumerate(sentences) if words[0] == person)]
                assert sentences[facts[0]][-1] == pair.target

    def test_words(self, shared_data: Path) -> None:
        data = DataConfig(catalogue="babi-19", folder=str(shared_data / "babi"))
        first = next(iter(load_split(data, "train")))
        assert first.source.startswith("the office is east of the hallway ||| the kitchen is north of the office ||| ")
        assert first.source.endswith(" ||| how do you go from the kitchen to the garden")
        assert first.target == "s,e"

    def test_download(self, shared_data: Path, tmp_path: Path) -> None:
        with serving() as served:
            for split in ("train", "test"):
                name = f"qa15_basic-deduction_{split}.txt"
                served.files[f"/en/{name}"] = gzip.decompress((shared_data / "babi/en" / f"{name}.gz").read_bytes())
            data = catalogue.get("babi-15", cache=tmp_path, base_url=served.url)
            assert [path.relative_to(tmp_path) for path in data.fetch()] == [
                Path(f"babi/en/qa15_basic-deduction_{split}.txt") for split in ("train", "test")
            ]
            assert len(list(data.read("test"))) == 1000
            assert len(served.requests) == 2
