"""Snips: tags and intents, by hand and as published."""

from pathlib import Path

import pytest
from tests.datasets.server import serving

from heedful.data.config import DataConfig
from heedful.data.corpus import Pair
from heedful.datasets import catalogue
from heedful.datasets.snips import read_tags
from heedful.errors import HeedfulError
from heedful.recipe.splits import load_split


class TestTags:
    def test_by_hand(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_text("play jazz \nstop\n")
        (tmp_path / "out").write_text("O B-genre \nO\n")
        assert list(read_tags(tmp_path / "in", tmp_path / "out")) == [Pair("play jazz", "O B-genre"), Pair("stop", "O")]

    def test_not_a_tag_for_each_word(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_text("play jazz\nstop\n")
        (tmp_path / "out").write_text("O B-genre\nO O\n")
        with pytest.raises(HeedfulError, match=r"out:2: 2 tag\(s\) for 1 word\(s\)\.") as caught:
            list(read_tags(tmp_path / "in", tmp_path / "out"))
        assert (caught.value.hint or "").endswith("in:2.")


class TestPublished:
    def test_slots(self, shared_data: Path) -> None:
        data = DataConfig(catalogue="snips-slots", folder=str(shared_data / "snips"))
        pairs = {split: list(load_split(data, split)) for split in ("train", "dev", "test")}
        assert [len(found) for found in pairs.values()] == [13_084, 700, 700]
        tags = {tag for found in pairs.values() for pair in found for tag in pair.target.split()}
        assert len({tag[2:] for tag in tags - {"O"}}) == 39
        assert pairs["train"][0] == Pair(
            "listen to westbam alumb allergic on google music", "O O B-artist O B-album O B-service I-service"
        )

    def test_intent(self, shared_data: Path) -> None:
        data = DataConfig(catalogue="snips-intent", folder=str(shared_data / "snips"))
        pairs = {split: list(load_split(data, split)) for split in ("train", "dev", "test")}
        assert [len(found) for found in pairs.values()] == [13_084, 700, 700]
        assert len({pair.target for found in pairs.values() for pair in found}) == 7
        assert pairs["train"][0] == Pair("listen to westbam alumb allergic on google music", "PlayMusic")

    @pytest.mark.parametrize("name", ["snips-slots", "snips-intent"])
    def test_download(self, name: str, shared_data: Path, tmp_path: Path) -> None:
        """The words are fetched once for both data sets."""
        with serving() as served:
            for path in (shared_data / "snips").glob("*/*"):
                served.files[f"/{path.parent.name}/{path.name}"] = path.read_bytes()
            data = catalogue.get(name, cache=tmp_path, base_url=served.url)
            assert len(data.fetch()) == len(served.requests) == 6
            assert len(list(data.read("dev"))) == 700
            catalogue.get("snips-slots", cache=tmp_path, base_url=served.url).fetch()
            assert len(served.requests) == (6 if name == "snips-slots" else 9)
