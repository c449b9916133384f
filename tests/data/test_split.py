"""Splitting a corpus: sizes, groups, names, and nothing overwritten."""

import gzip
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from tests.data.made_up import pairs

from heedful.data.corpus import Pair, read_parallel
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
    read = {split: list(read_parallel(paths)) for split, paths in written.items()}
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
    sources = {split: {pair.target for pair in read_parallel(paths)} for split, paths in written.items()}
    assert not sources["train"] & (sources["dev"] | sources["test"])
    assert not sources["dev"] & sources["test"]
    counts = {split: len(list(read_parallel(paths))) for split, paths in written.items()}
    assert counts == {"train": 96, "dev": 12, "test": 12}


def test_table_becomes_a_tsv(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(f'{{"en": "a\\t{n}", "de": "b{n}"}}\n' for n in range(10)))
    written = split_corpus([tmp_path / "a.jsonl"], tmp_path, Sizes(0, 3, seed=1), ("en", "de"))
    assert [path.name for paths in written.values() for path in paths] == ["train.tsv", "test.tsv"]
    found = [*read_parallel(written["train"]), *read_parallel(written["test"])]
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
    assert list(read_parallel([paths[0]])) == list(data.read("train"))
    with pytest.raises(HeedfulError, match=r"train\.tsv exists already\."):
        write_splits(readers, tmp_path)
