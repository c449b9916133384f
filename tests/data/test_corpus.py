"""Reading pairs: every format, and every way in which a file can be wrong."""

import csv
import gzip
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.corpus import FingerprintedPairs, Pair, count_pairs, fingerprint, read_pairs
from heedful.data.lines import read_lines
from heedful.errors import ConfigError, HeedfulError

PAIRS = [Pair("A dog.", "Ein Hund."), Pair("", "leer"), Pair("two\u2028lines", "ü\x85 \x0c"), Pair(" kept ", "\u00a0")]
line = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=20)


def put(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def failure(paths: list[Path], source: str = "source", target: str = "target") -> HeedfulError:
    with pytest.raises(HeedfulError) as caught:
        count_pairs(paths, source, target)
    return caught.value


class TestTwoFiles:
    @pytest.mark.parametrize("suffix", ["", ".gz"])
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_line_by_line(self, tmp_path: Path, suffix: str, end: str) -> None:
        """Only a newline ends a line: U+2028, U+0085 and form feeds are text."""
        source = put(tmp_path / f"a.en{suffix}", "".join(pair.source + end for pair in PAIRS))
        target = put(tmp_path / f"a.de{suffix}", end.join(pair.target for pair in PAIRS))
        assert list(read_pairs([source, str(target)])) == PAIRS
        assert count_pairs([source, target]) == len(PAIRS)

    @given(pairs=st.lists(st.tuples(line, line), min_size=1, max_size=5))
    def test_whatever_was_written(self, tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> None:
        folder = tmp_path_factory.getbasetemp()
        files = [put(folder / f"any.{side}", "".join(pair[side] + "\n" for pair in pairs)) for side in (0, 1)]
        assert [pair[0].removeprefix("\ufeff") for pair in pairs[:1]] == [next(read_pairs(files)).source]
        assert list(read_pairs(files))[1:] == pairs[1:]

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        assert list(read_lines(put(tmp_path / "a", "\ufeffone\n\ufefftwo\n"))) == ["one", "\ufefftwo"]

    def test_streaming(self, tmp_path: Path) -> None:
        """The first pair comes before the rest is read."""
        files = [put(tmp_path / "a", b"ok\n\xff\n"), put(tmp_path / "b", b"gut\n\xff\n")]
        assert next(read_pairs(files)) == Pair("ok", "gut")

    @pytest.mark.parametrize(("n_source", "n_target"), [(3, 5), (5, 3), (1200, 1199)])
    def test_different_lengths(self, tmp_path: Path, n_source: int, n_target: int) -> None:
        source, target = put(tmp_path / "a.en", "x\n" * n_source), put(tmp_path / "a.de", "y\n" * n_target)
        error = failure([source, target])
        assert (
            error.message == f"{source} has {n_source:,} lines but {target} has {n_target:,}, so they are not aligned."
        )
        assert error.hint is not None
        assert error.hint.startswith("Line n of one file must translate line n of the other.")


class TestTables:
    @pytest.mark.parametrize("suffix", ["", ".gz"])
    def test_tsv(self, tmp_path: Path, suffix: str) -> None:
        bare = put(tmp_path / f"a.tsv{suffix}", 'a\t"b\nc\td\textra\n\n')
        assert list(read_pairs([bare])) == [("a", '"b'), ("c", "d")]
        assert list(read_pairs([bare], "2", "1")) == [('"b', "a"), ("d", "c")]
        named = put(tmp_path / f"b.tsv{suffix}", "id\ttarget\tsource\n1\tb\ta\n")
        assert list(read_pairs([named])) == [("a", "b")]
        assert list(read_pairs([named], "id", "source")) == [("1", "a")]

    def test_csv(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("target", "source"), ("b, with comma", 'a "quoted"'), ("two\nlines", "x")])
        assert list(read_pairs([path])) == [('a "quoted"', "b, with comma"), ("x", "two lines")]
        assert list(read_pairs([put(tmp_path / "b.csv", "1,a,b\n\n2,c,d\n")], "2", "3")) == [("a", "b"), ("c", "d")]

    def test_jsonl(self, tmp_path: Path) -> None:
        records = [{"en": "a", "de": "b\r\nc", "n": 1}, {"de": "ü\u2028", "en": ""}]
        path = put(tmp_path / "a.jsonl.gz", "".join(json.dumps(record) + "\n" for record in records) + "\n")
        assert list(read_pairs([path], "en", "de")) == [("a", "b c"), ("", "ü\u2028")]

    def test_long_csv_field(self, tmp_path: Path) -> None:
        long = "x" * 200_000
        assert next(read_pairs([put(tmp_path / "a.csv", f"source,target\n{long},y\n")])).source == long


class TestWrongTables:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.tsv", "a\tb\nonly one\n", r"a\.tsv:2: 1 column\(s\), but column 2 is needed\."),
            ("a.csv", 'source,target\n"a,b\n', r"a\.csv:2: not valid CSV: unexpected end of data\."),
            ("a.csv", "source,target\na\n", r"a\.csv:2: 1 column\(s\), but column 2 is needed\."),
            ("a.csv", "en,de\na,b\n", r"a\.csv:1: no columns `source` and `target`; there are: en, de\."),
            ("a.jsonl", '{"source": "a"}\n', r"a\.jsonl:1: no text under the key `target`; there are: source\."),
            (
                "a.jsonl",
                '{"source": 3, "target": ""}\n',
                r"a\.jsonl:1: no text under the key `source`; its value is 3\.",
            ),
            ("a.jsonl", '\n["a", "b"]\n', r"a\.jsonl:2: not a JSON object but \['a', 'b'\]\."),
            ("a.jsonl", "{'a'}\n", r"a\.jsonl:1: not valid JSON: "),
            ("a.txt", "a b\n", r"a\.txt alone holds no pairs: it is no table, and its first line has no tab\."),
        ],
    )
    def test_message_with_place(self, tmp_path: Path, name: str, content: str, message: str) -> None:
        with pytest.raises(HeedfulError, match=message) as caught:
            count_pairs([put(tmp_path / name, content)])
        assert caught.value.hint

    def test_named_columns_that_a_tsv_does_not_have(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="no columns `en` and `de`; there are: a, b"):
            count_pairs([put(tmp_path / "a.tsv", "a\tb\n")], "en", "de")

    def test_too_many_files(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="but 3 files are named"):
            read_pairs([tmp_path] * 3)


class TestFilesThatAreNoText:
    def check(self, tmp_path: Path, content: bytes, message: str, hint: str, name: str = "a.en") -> None:
        other = put(tmp_path / "a.de", "x\n" * 9)
        error = failure([put(tmp_path / name, content) if name == "a.en" else tmp_path / name, other])
        assert message in error.message
        assert hint in (error.hint or "")

    def test_latin_1(self, tmp_path: Path) -> None:
        content = b"fine\nM\xfcller\n"
        self.check(tmp_path, content, "a.en:2: not UTF-8 (byte 2 of the line is 0xFC).", "iconv -f LATIN1")

    def test_nul_bytes(self, tmp_path: Path) -> None:
        self.check(tmp_path, b"fine\nb\0d\n", "a.en:2: this is a binary file, not UTF-8 text.", "no NUL bytes")

    def test_utf_16(self, tmp_path: Path) -> None:
        self.check(tmp_path, "Hund\n".encode("utf-16"), "a.en:1: this is a binary file", "iconv -f UTF-16")

    def test_gzip_without_the_name(self, tmp_path: Path) -> None:
        self.check(tmp_path, gzip.compress(b"x\n"), "a.en:1: this is a binary file", "ends in .gz")

    def test_a_name_without_gzip(self, tmp_path: Path) -> None:
        (tmp_path / "a.gz").write_bytes(b"plain\n")
        self.check(tmp_path, b"", "a.gz cannot be unpacked", "take .gz off its name", name="a.gz")

    def test_cut_off_gzip(self, tmp_path: Path) -> None:
        (tmp_path / "a.gz").write_bytes(gzip.compress(b"x\n" * 9)[:-9])
        self.check(tmp_path, b"", "a.gz cannot be unpacked", "again", name="a.gz")


class TestFilesThatAreNotThere:
    def test_nearest_name(self, tmp_path: Path) -> None:
        put(tmp_path / "train.en", "x\n")
        with pytest.raises(HeedfulError, match=r"There is no file .*trian\.en\.") as caught:
            read_pairs([tmp_path / "trian.en", tmp_path / "train.en"])
        assert caught.value.hint == f"Did you mean {tmp_path / 'train.en'}?"

    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(HeedfulError, match="its folder is not there either"):
            read_pairs([tmp_path / "no" / "a.tsv"])

    def test_nothing_near(self, tmp_path: Path) -> None:
        with pytest.raises(HeedfulError) as caught:
            read_pairs([tmp_path / "a.tsv"])
        assert caught.value.hint == f"You are in {Path.cwd()}."

    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(HeedfulError, match="is a folder, not a file"):
            read_pairs([tmp_path, tmp_path])


@pytest.mark.parametrize(
    ("name", "content"), [("a.tsv", ""), ("a.tsv", "\n \n"), ("a.csv", "source,target\n"), ("a.jsonl", "")]
)
def test_empty_corpus(tmp_path: Path, name: str, content: str) -> None:
    assert failure([put(tmp_path / name, content)]).message == f"There are no pairs in {tmp_path / name}."


def test_empty_pair_of_files(tmp_path: Path) -> None:
    files = [put(tmp_path / name, "") for name in ("a", "b")]
    assert failure(files).message == f"There are no pairs in {files[0]} and {files[1]}."


def test_fingerprint() -> None:
    assert fingerprint(PAIRS) == fingerprint(iter(PAIRS))
    assert fingerprint(PAIRS) != fingerprint(PAIRS[::-1])
    assert fingerprint([Pair("a", "b")]) != fingerprint([Pair("b", "a")])
    by_hand = hashlib.sha256(b"a\nb\nc\nd\n").hexdigest()
    assert fingerprint([Pair("a", "b"), Pair("c", "d")]) == (2, by_hand)
    watched = FingerprintedPairs([Pair("a", "b"), Pair("c", "d")])
    assert list(watched) == [Pair("a", "b"), Pair("c", "d")]
    assert watched.fingerprint == (2, by_hand)
