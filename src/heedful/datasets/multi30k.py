"""Multi30k, task 1: captions of pictures, English with German and French [Elliott 2016; Elliott 2017].

Raw text is what models read. Published scores are on lower-cased, tokenised references, which are files of their own.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import final

from heedful.data.corpus import Pair, read_pairs
from heedful.data.lines import read_lines
from heedful.datasets.download import DownloadProgress
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, PublishedFile

COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
BASE_URL = f"https://raw.githubusercontent.com/multi30k/dataset/{COMMIT}/data/task1"
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
NAMES = ("multi30k-en-de", "multi30k-de-en", "multi30k-en-fr", "multi30k-fr-en")
LINES = {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000, "test_2017_flickr": 1_000}
STEMS = {  # split -> how its files are called
    "train": "train",
    "dev": "val",
    "test": "test_2016_flickr",
    "test_2016": "test_2016_flickr",
    "test_2017": "test_2017_flickr",
}
SHA256 = {  # of raw/STEM.LANGUAGE.gz as published
    ("train", "en"): "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    ("train", "de"): "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    ("train", "fr"): "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    ("val", "en"): "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    ("val", "de"): "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    ("val", "fr"): "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    ("test_2016_flickr", "en"): "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    ("test_2016_flickr", "de"): "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    ("test_2016_flickr", "fr"): "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    ("test_2017_flickr", "en"): "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    ("test_2017_flickr", "de"): "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    ("test_2017_flickr", "fr"): "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496",
}


@final
class Multi30k(DataSet):
    """One direction of Multi30k. `test` is `test_2016`."""

    def __init__(self, name: str, place: FileLocation) -> None:
        _, self._source, self._target = name.split("-")
        self.about = DataSetFacts(
            name=name,
            description="captions of pictures: 29,000 pairs",
            licence="non-commercial research and education only (see the repository multi30k/dataset)",
            source_language=LANGUAGES[self._source],
            target_language=LANGUAGES[self._target],
            splits=tuple(STEMS),
            group="none",
        )
        self._place = place

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        files = (_raw(STEMS[split], language) for language in (self._source, self._target))
        return read_pairs([self._place.path(file) for file in files])

    def tokenised_references(self, split: str) -> list[str]:
        self.require(split)
        file = _tokenised(STEMS[split], self._target)
        return [line.strip() for line in read_lines(self._place.path(file))]  # the lines end in a blank

    def fetch(self, progress: Callable[[DownloadProgress], None] | None = None) -> list[Path]:
        raw = [_raw(stem, language) for stem in LINES for language in (self._source, self._target)]
        tokenised = [_tokenised(stem, self._target) for stem in LINES if stem != "train"]
        return [self._place.path(file, progress) for file in (*raw, *tokenised)]


def _raw(stem: str, language: str) -> PublishedFile:
    return PublishedFile(f"raw/{stem}.{language}.gz", LINES[stem], SHA256[stem, language])


def _tokenised(stem: str, language: str) -> PublishedFile:
    # The copies that we know are compressed anew, so the checksum of the published files is not known to us.
    return PublishedFile(f"tok/{stem}.lc.norm.tok.{language}", LINES[stem], None)
