"""Historical spellings: lines by hand, and the published files."""

import gzip
from pathlib import Path

import pytest
from tests.datasets.server import serving

from heedful.data.config import DataConfig
from heedful.data.corpus import Pair
from heedful.datasets import catalogue
from heedful.datasets.histnorm import BASE_URLS, read_forms
from heedful.recipe.splits import load_split


def test_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("yn\tihn\n\n dañ\n\t\ntrincks\ttrink es \n.\tI.\tII.\n")
    assert list(read_forms(tmp_path / "a.txt")) == [Pair("yn", "ihn"), Pair("trincks", "trink es"), Pair(".", "I.")]


class TestPublished:
    @pytest.mark.parametrize(
        ("name", "sizes"),
        [
            ("german-ridges", (48_987, 11_329, 11_253)),
            ("german-anselm", (233_937, 45_996, 45_999)),
            ("slovene-goo300k-bohoric", (60_811, 7_131, 7_305)),
        ],
    )
    def test_sizes(self, name: str, sizes: tuple[int, ...], shared_data: Path) -> None:
        """Those of the page of the data, less one word without a modern form, and 448 lines of test without a word."""
        data = DataConfig(catalogue=f"histnorm-{name}", folder=str(shared_data / "histnorm"))
        assert tuple(len(list(load_split(data, split))) for split in ("train", "dev", "test")) == sizes

    def test_download(self, shared_data: Path, tmp_path: Path) -> None:
        assert BASE_URLS["histnorm-slovene-goo300k-bohoric"].endswith("/datasets/historical/slovene")
        with serving() as served:
            for split in ("train", "dev", "test"):
                name = f"german-ridges.{split}.txt"
                served.files[f"/{name}"] = gzip.decompress((shared_data / "histnorm" / f"{name}.gz").read_bytes())
            data = catalogue.get("histnorm-german-ridges", cache=tmp_path, base_url=served.url)
            assert len(data.fetch()) == len(served.requests) == 3
            assert len(list(data.read("dev"))) == 11_329
