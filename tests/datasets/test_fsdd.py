"""Strings of spoken digits: speakers apart, takes used alike, and a local copy in either form."""

import zipfile
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from heedful.data.config import DataConfig
from heedful.datasets import catalogue
from heedful.datasets.fsdd import HELD_OUT, SPEAKERS, WORDS, Recording, strings
from heedful.errors import ConfigError, HeedfulError
from heedful.recipe import splits

EVERYONE = [speaker for speakers in SPEAKERS.values() for speaker in speakers]
NAMES = [f"{digit}_{speaker}_{take}.wav" for digit in range(10) for speaker in EVERYONE for take in (0, 1)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy in which the files hold nothing: their names are all that is read here."""
    (tmp_path / "recordings").mkdir()
    for name in NAMES:
        (tmp_path / "recordings" / name).touch()
    return tmp_path


def pairs(folder: Path, split: str, count: int = 50) -> list[tuple[str, str]]:
    return list(splits.load_split(DataConfig(catalogue="fsdd-strings", folder=str(folder), pairs=count), split))


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_strings_of_one_speaker(folder: Path, split: str) -> None:
    found = pairs(folder, split)
    assert len(found) == (50 if split == "train" else HELD_OUT)
    heard = Counter()
    for source, target in found:
        takes = [Path(name).stem.split("_") for name in source.split()]
        assert [WORDS[int(digit)] for digit, _, _ in takes] == target.split()
        assert 3 <= len(takes) <= 5
        (speaker,) = {speaker for _, speaker, _ in takes}
        heard[speaker] += 1
    assert set(heard) == set(SPEAKERS[split])
    assert max(heard.values()) - min(heard.values()) <= 1
    assert found == pairs(folder, split)
    assert all(Path(name).exists() for source, _ in found for name in source.split())


def test_no_speaker_is_in_two_splits() -> None:
    assert len(set(EVERYONE)) == len(EVERYONE) == 6


def test_each_take_is_used_as_often_as_any_other() -> None:
    voice = [Recording(f"{number}.wav", number % 10) for number in range(30)]
    used = Counter(name for source, _ in islice(strings([voice], "x"), 300) for name in source.split())
    assert len(used) == 30
    assert max(used.values()) - min(used.values()) <= 1


def test_an_archive_is_the_same(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "zipped").mkdir()
    with zipfile.ZipFile(tmp_path / "zipped" / "recordings.zip", "w") as archive:
        for name in NAMES:
            archive.write(folder / "recordings" / name, f"recordings/{name}")
    unpacked, packed = (pairs(place, "train") for place in (folder, tmp_path / "zipped"))
    assert [target for _, target in packed] == [target for _, target in unpacked]
    assert packed[0][0].startswith(str(tmp_path / "zipped" / "recordings.zip" / "recordings"))


def test_the_real_one(shared_data: Path) -> None:
    takes = Counter(name for source, _ in pairs(shared_data / "fsdd", "test") for name in source.split())
    assert len(takes) == 500


class TestNotThere:
    def refused(self, folder: Path | None, error: type[HeedfulError], message: str) -> str:
        with pytest.raises(error, match=message) as caught:
            list(catalogue.get("fsdd-strings", folder).read("train"))
        return caught.value.hint or ""

    def test_no_folder(self) -> None:
        assert "data.folder=PATH" in self.refused(None, ConfigError, "`?fsdd-strings`? needs a local copy")

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        assert "Clone https://" in self.refused(tmp_path, HeedfulError, "has neither recordings/ nor recordings.zip")

    def test_a_speaker_is_missing(self, folder: Path) -> None:
        for path in (folder / "recordings").glob("*_lucas_*"):
            path.unlink()
        assert "DIGIT_SPEAKER_NUMBER.wav" in self.refused(folder, HeedfulError, "holds no recording of lucas")

    def test_a_broken_archive(self, tmp_path: Path) -> None:
        (tmp_path / "recordings.zip").write_text("no archive")
        assert self.refused(tmp_path, HeedfulError, "cannot be read: File is not a zip file") == "Copy it again."

    def test_a_blank_in_the_path(self, tmp_path: Path) -> None:
        (tmp_path / "my data").mkdir()
        assert "Move it" in self.refused(tmp_path / "my data", ConfigError, "has a blank in its name")
