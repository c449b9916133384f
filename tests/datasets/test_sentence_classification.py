"""Labelled sentences: the format by hand, a dev split that is always the same, and the published files."""

import gzip
from collections import Counter
from pathlib import Path

import pytest
from tests.datasets.server import serving

from heedful.data.config import DataConfig
from heedful.data.corpus import Pair
from heedful.datasets import catalogue
from heedful.datasets.sentence_classification import read_labelled
from heedful.errors import HeedfulError
from heedful.recipe.splits import load_split

LABELS = ("bad", "good")


class TestFormat:
    def test_by_hand(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes("1 a caf\u00e9  , fine \n0 no .\n".encode("latin-1"))
        assert list(read_labelled(tmp_path / "a", LABELS, "latin-1")) == [
            Pair("a caf\u00e9 , fine", "good"),
            Pair("no .", "bad"),
        ]
        with pytest.raises(HeedfulError, match="a:1: not UTF-8"):
            list(read_labelled(tmp_path / "a", LABELS, "utf-8"))

    @pytest.mark.parametrize("line", ["", "2 too many", "1", "one a"])
    def test_not_of_the_form(self, line: str, tmp_path: Path) -> None:
        (tmp_path / "a").write_text(f"0 fine\n{line}\n")
        with pytest.raises(HeedfulError, match="a:2: not a sentence with a label") as caught:
            list(read_labelled(tmp_path / "a", LABELS, "utf-8"))
        assert caught.value.hint == "A line is a number from 0 to 1, a blank, and a sentence."


class TestPublished:
    @pytest.mark.parametrize(("name", "sizes"), [("sst2", (6_920, 872, 1_821)), ("sst5", (8_544, 1_101, 2_210))])
    def test_sentiment(self, name: str, sizes: tuple[int, ...], shared_data: Path) -> None:
        data = DataConfig(catalogue=name, folder=str(shared_data / "sentence-classification"))
        splits = [list(load_split(data, split)) for split in ("train", "dev", "test")]
        assert tuple(map(len, splits)) == sizes
        first = splits[0][0]
        assert first.source.startswith("a stirring , funny and finally transporting re-imagining")
        assert first.target == {"sst2": "positive", "sst5": "very-positive"}[name]

    def test_trec(self, shared_data: Path) -> None:
        """Dev is about a tenth of train, takes nothing from test, and shares no question with what is left."""
        data = DataConfig(catalogue="trec", folder=str(shared_data / "sentence-classification"))
        train, dev, test = (list(load_split(data, split)) for split in ("train", "dev", "test"))
        assert (len(train) + len(dev), len(test)) == (5_452, 500)
        assert 490 < len(dev) < 600
        assert not {pair.source.lower() for pair in train} & {pair.source.lower() for pair in dev}
        labels = {pair.source: pair.target for pair in train + dev}
        assert labels["How did serfdom develop in and then leave Russia ?"] == "description"
        assert labels["What is the full form of .com ?"] == "abbreviation"
        assert labels["When was Ozzy Osbourne born ?"] == "number"
        assert labels["What is the highest waterfall in the United States ?"] == "location"
        # As Li and Roth count them in test.
        assert Counter(pair.target for pair in test) == {
            "description": 138,
            "number": 113,
            "entity": 94,
            "location": 81,
            "human": 65,
            "abbreviation": 9,
        }

    def test_download(self, shared_data: Path, tmp_path: Path) -> None:
        with serving() as served:
            for split in ("train", "test"):
                content = (shared_data / "sentence-classification" / f"TREC.{split}.all.gz").read_bytes()
                served.files[f"/TREC.{split}.all"] = gzip.decompress(content)
            data = catalogue.get("trec", cache=tmp_path, base_url=served.url)
            assert len(data.fetch()) == len(served.requests) == 2
            assert len(list(data.read("test"))) == 500
