"""Splitting a corpus: sizes, groups, names, and nothing overwritten."""

import errno
import gzip
import os
import shutil
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from tests.data.made_up import pairs

from heedful.data.corpus import Pair, read_pairs
from heedful.data.split import Sizes, split_corpus, write_splits
from heedful.datasets import catalogue
from heedful.errors import ConfigError, HeedfulError

CORPUS = list(dict.fromkeys(pairs(300)))
NAMES = ("source", "target")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "corpus.en.gz", tmp_path / "corpus.de"]
    paths[0].write_bytes(gzip.compress("".join(pair.source + "\n" for pair in CORPUS).encode()))
    paths[1].write_text("".join(pair.target + "\n" for pair in CORPUS))
    return paths


def test_two_files(files: list[Path], tmp_path: Path) -> None:
    written = split_corpus(files, tmp_path / "out", Sizes(20, 30, seed=1), NAMES)
    assert {split: [path.name for path in paths] for split, paths in written.items()} == {
        split: [f"{split}.en", f"{split}.de"] for split in ("train", "dev", "test")
    }
    read = {split: list(read_pairs(paths)) for split, paths in written.items()}
    assert {split: len(found) for split, found in read.items()} == {"train": 250, "dev": 20, "test": 30}
    assert Counter(pair for found in read.values() for pair in found) == Counter(CORPUS)
    assert [pair for pair in CORPUS if pair in set(read["train"])] == read["train"]  # in their order


def test_by_seed(files: list[Path], tmp_path: Path) -> None:
    texts = [
        split_corpus(files, tmp_path / str(place), Sizes(20, 0, seed), NAMES)["dev"][0].read_text()
        for place, seed in enumerate((1, 1, 2))
    ]
    assert texts[0] == texts[1] != texts[2]


def test_equal_sources_stay_together(tmp_path: Path) -> None:
    """Forty sources of three pairs each, which differ in case and blanks."""
    rows = [f"{source}\tt{n}\n" for n in range(40) for source in (f"word {n}", f"Word  {n}", f"WORD {n}")]
    (tmp_path / "a.tsv").write_text("".join(rows))
    written = split_corpus([tmp_path / "a.tsv"], tmp_path / "out", Sizes(10, 10, seed=1), NAMES)
    sources = {split: {pair.target for pair in read_pairs(paths)} for split, paths in written.items()}
    assert not sources["train"] & (sources["dev"] | sources["test"])
    assert not sources["dev"] & sources["test"]
    counts = {split: len(list(read_pairs(paths))) for split, paths in written.items()}
    assert counts == {"train": 96, "dev": 12, "test": 12}


def test_table_becomes_a_tsv(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(f'{{"en": "a\\t{n}", "de": "b{n}"}}\n' for n in range(10)))
    written = split_corpus([tmp_path / "a.jsonl"], tmp_path, Sizes(0, 3, seed=1), ("en", "de"))
    assert [path.name for paths in written.values() for path in paths] == ["train.tsv", "test.tsv"]
    found = [*read_pairs(written["train"]), *read_pairs(written["test"])]
    assert set(found) == {Pair(f"a {n}", f"b{n}") for n in range(10)}


def test_equal_suffixes(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("english.txt", "german.txt")]
    for path in paths:
        path.write_text("1\n2\n3\n")
    written = split_corpus(paths, tmp_path, Sizes(1, 0, seed=1), NAMES)
    assert [path.name for path in written["dev"]] == ["dev.source.txt", "dev.target.txt"]


def test_never_overwrites(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "dev.de").write_text("precious")
    with pytest.raises(HeedfulError, match=r"dev\.de exists already\."):
        split_corpus(files, tmp_path, Sizes(10, 10, seed=1), NAMES)
    assert (tmp_path / "dev.de").read_text() == "precious"
    assert not (tmp_path / "train.en").exists()


PLACES = 7  # one more than files that are linked into their places: then while the hidden folder is removed


@pytest.mark.parametrize("verb", ["split", "get"])
@pytest.mark.parametrize("linked", range(PLACES))
def test_killed_while_the_files_get_their_places(verb: str, linked: int, files: list[Path], tmp_path: Path) -> None:
    """A real kill, after so many: the next call is not refused, and what stands there is whole and of that call."""
    out = tmp_path / "out"

    def write(seed: int) -> None:
        if verb == "split":
            split_corpus(files, out, Sizes(20, 30, seed), NAMES)
        else:
            data = catalogue.get("reverse", pairs=100 + seed)
            write_splits({split: partial(data.read, split) for split in data.about.splits}, out)

    child = os.fork()
    if child == 0:
        try:
            left, link = [linked], os.link

            def until_killed(part: Path, place: Path) -> None:
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
                link(part, place)

            os.link = until_killed
            Path.rename = lambda *_arguments: os.kill(os.getpid(), signal.SIGKILL)  # before the hidden folder goes
            write(1)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    write(2)
    again = {path.name: path.read_bytes() for path in out.iterdir()}
    shutil.rmtree(out)
    write(2)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == again


def test_another_one_s_files_are_not_taken_back(files: list[Path], tmp_path: Path) -> None:
    """Somebody has put a file of that name there after the kill."""
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    staging = tmp_path / "out" / f".new files.{dead}.partial"
    staging.mkdir(parents=True)
    (staging / "train.en").write_text("of the killed one")
    (tmp_path / "out" / "train.en").write_text("mine")
    with pytest.raises(ConfigError, match=r"train\.en exists already"):
        split_corpus(files, tmp_path / "out", Sizes(20, 30, 1), NAMES)
    assert [(path.name, path.read_text()) for path in (tmp_path / "out").iterdir()] == [("train.en", "mine")]


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    """The second file of the corpus ends too early, which is seen when the first is half split."""
    paths = [tmp_path / "a.en", tmp_path / "a.de"]
    paths[0].write_text("".join(f"s{n}\n" for n in range(50)))
    paths[1].write_text("".join(f"t{n}\n" for n in range(49)))
    with pytest.raises(HeedfulError, match="not aligned"):
        split_corpus(paths, tmp_path / "new" / "out", Sizes(5, 5, 1), NAMES)
    assert not (tmp_path / "new").exists()


def test_without_hard_links(files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on file systems of cards and sticks."""

    def refused(_part: Path, _place: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refused)
    split_corpus(files, tmp_path / "out", Sizes(20, 30, 1), NAMES)
    assert len(list((tmp_path / "out").iterdir())) == 6


def test_a_file_that_was_made_meanwhile_stays(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def taken(part: Path, place: Path) -> None:
        if place.name == "dev.en":
            place.write_text("theirs")
        link(part, place)

    monkeypatch.setattr(os, "link", taken)
    with pytest.raises(ConfigError, match=r"dev\.en was made by somebody else meanwhile"):
        split_corpus(files, tmp_path / "out", Sizes(20, 30, 1), NAMES)
    assert [(path.name, path.read_text()) for path in (tmp_path / "out").iterdir()] == [("dev.en", "theirs")]


@pytest.mark.parametrize(("dev", "test"), [(0, 0), (-1, 5)])
def test_nothing_to_split_off(files: list[Path], tmp_path: Path, dev: int, test: int) -> None:
    with pytest.raises(ConfigError, match=f"Nothing to split off: {dev} pairs of dev and {test} of test"):
        split_corpus(files, tmp_path, Sizes(dev, test, seed=1), NAMES)


@pytest.mark.parametrize(("dev", "test"), [(300, 0), (150, 150), (0, 1000)])
def test_nothing_left(files: list[Path], tmp_path: Path, dev: int, test: int) -> None:
    with pytest.raises(ConfigError, match="nothing is left to train on") as caught:
        split_corpus(files, tmp_path, Sizes(dev, test, seed=1), NAMES)
    assert caught.value.hint == "There are 300 pairs in all."


def test_writing_a_named_data_set(tmp_path: Path) -> None:
    data = catalogue.get("reverse", pairs=50)
    readers = {split: partial(data.read, split) for split in data.about.splits}
    paths = write_splits(readers, tmp_path)
    assert [path.name for path in paths] == ["train.tsv", "dev.tsv", "test.tsv"]
    assert list(read_pairs([paths[0]])) == list(data.read("train"))
    with pytest.raises(HeedfulError, match=r"train\.tsv exists already\."):
        write_splits(readers, tmp_path)
