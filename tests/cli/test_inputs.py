"""Lines for `translate`, `score` and `align`: texts of the command line, JSON of strangers, pairs that are wrong."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import untrained_bundle

from heedful.data.corpus import read_pairs
from heedful.errors import HeedfulError
from heedful.pipeline.load import load

PAIRS = [("abc de", "cba ed"), ("fghi", "ihgf"), ("jk ü", "ü kj"), ("lm", "ml")]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = ("model.positions=learned", "model.max_positions=8")
    return untrained_bundle(tmp_path_factory.mktemp("random") / "model", PAIRS, *settings)


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda text: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


class TestText:
    def test_is_translated(self, bundle: Path, heedful: Callable) -> None:
        wanted = "".join(f"{one.text}\n" for one in load(bundle).translate(["abc", "ü kj"]))
        assert heedful("translate", str(bundle), "--text", "abc", "--text", "ü kj") == (0, wanted, "")

    def test_warnings_and_errors_name_it(self, bundle: Path, heedful: Callable) -> None:
        outcome = heedful("translate", str(bundle), "--text", "a☃")
        assert outcome.err == "warning: --text:1: 1 unknown symbol in the source\n"
        outcome = heedful("translate", str(bundle), "--text", "a", "--text", "b", "--require", "☃")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("error: --text:1: this model cannot write '☃'")

    def test_a_text_in_place_of_a_file(self, bundle: Path, heedful: Callable) -> None:
        for text in ("a dog runs", "x" * 5000):
            code, out, err = heedful("translate", str(bundle), text)
            assert (code, out) == (2, "")
            assert err.startswith(f"error: There is no file {text}.\n")
            assert "--text TEXT to translate a text itself" in err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["FILE", "--text", "a"], "--text and the file FILE exclude each other."),
            (["--text", "a", "--input-format", "jsonl"], "--text and --input-format exclude each other."),
            (["--text", "a\nb"], "--text 'a\\nb' has several lines."),
            (["--text", "a\udcff"], "--text 'a\\udcff' is no UTF-8 text."),
            (["--prefix", "\udcff"], "--prefix '\\udcff' is no UTF-8 text."),
            (["--forbid", "\udcff"], "--forbid '\\udcff' is no UTF-8 text."),
            (["--require", "a", "--forbid", "a"], "--require and --forbid both name 'a'"),
        ],
    )
    def test_refusals(self, options: list[str], message: str, bundle: Path, heedful: Callable, give: Callable) -> None:
        give("ab\n")
        code, out, err = heedful("translate", str(bundle), *options)
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {message}")
        assert "hint: " in err

    def test_forbidden_within_what_is_required(self, bundle: Path, heedful: Callable, give: Callable) -> None:
        give("ab\n")
        code, _, err = heedful("translate", str(bundle), "--require", "ab", "--forbid", "b")
        assert code == 2
        assert err.startswith("error: -:1: 'ab' is asked for, but holds a forbidden phrase.")

    @pytest.mark.parametrize("arguments", [["\udcff"], ["a", "--target", "\udcff"]])
    def test_inspect(self, arguments: list[str], bundle: Path, heedful: Callable) -> None:
        code, _, err = heedful("inspect", str(bundle), *arguments)
        assert code == 2
        assert "is no UTF-8 text." in err


HALF = '"a\\ud83d"'
MANY = "9" * 5000
DEEP = "[" * 5000 + "]" * 5000
NESTED = "[" * 200 + "]" * 200


class TestJson:
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (f'{{"source": {HALF}}}', "`source` holds half a character (the lone surrogate U+D83D)."),
            (f'{{"source": "a", "prefix": {HALF}}}', "`prefix` holds half a character"),
            (f'{{"source": "a", "forbid": ["b", {HALF}]}}', "`forbid` holds half a character"),
            (f'{{"source": {MANY}}}', "it holds a number of thousands of digits."),
            (f'{{"source": {DEEP}}}', "its lists and objects nest more than 100 deep."),
            (f'{{"source": {NESTED}}}', "its lists and objects nest more than 100 deep."),
            ('{"source": "a"', "not valid JSON: "),
        ],
    )
    def test_of_a_stranger(self, line: str, message: str, bundle: Path, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "in.jsonl").write_text(f'{{"source": "a"}}\n{line}\n')
        place = f"{tmp_path / 'in.jsonl'}:2"
        code, out, err = heedful("translate", str(bundle), str(tmp_path / "in.jsonl"), "--input-format", "jsonl")
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {place}: {message}")
        if "prefix" in line or "forbid" in line:
            return
        line = line[:-1] + ', "target": "b"}' if line.endswith("}") else line
        (tmp_path / "in.jsonl").write_text(f'{{"source": "a", "target": "b"}}\n{line}\n')
        with pytest.raises(HeedfulError) as caught:
            list(read_pairs([tmp_path / "in.jsonl"]))
        assert caught.value.message.startswith(f"{place}: {message}")
        assert caught.value.hint

    def test_a_whole_character_in_two_halves(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give('{"source": "\\ud83d\\ude00"}\n')
        outcome = heedful("translate", str(bundle), "--input-format", "jsonl", "--json")
        assert json.loads(outcome.out)["source"] == "😀"

    def test_blank_lines_stay_blank(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give('{"source": "abc"}\n\n{"source": "de"}\n\n')
        outcome = heedful("translate", str(bundle), "--input-format", "jsonl")
        lines = outcome.out.split("\n")
        assert (outcome.code, [bool(line) for line in lines]) == (0, [True, False, True, False, False])


class TestWrongPairs:
    """Positions are 8 here: the second pair is too long."""

    @pytest.fixture
    def files(self, tmp_path: Path) -> list[str]:
        (tmp_path / "src").write_text("ab\nabc de abc de\nab\n")
        (tmp_path / "tgt").write_text("ba\ned\nab\n")
        return [str(tmp_path / "src"), str(tmp_path / "tgt")]

    @pytest.mark.parametrize("verb", ["score", "align"])
    def test_nothing_is_printed_and_both_files_are_named(
        self, verb: str, files: list[str], bundle: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("heedful.cli.score.CHUNK", 1)
        code, out, err = heedful(verb, str(bundle), *files)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {files[0]}:2 and {files[1]}:2: Pair 2 has 14 tokens, but this model reads 8.")

    def test_of_a_table(self, files: list[str], bundle: Path, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "pairs.tsv").write_text("source\ttarget\nab\tba\n\nabc de abc de\ted\n")
        code, out, err = heedful("align", str(bundle), str(tmp_path / "pairs.tsv"))
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {tmp_path / 'pairs.tsv'}: Pair 2 has 14 tokens")

    @pytest.mark.parametrize("line", ["score BUNDLE a.tsv b.tsv", "evaluate BUNDLE --source a.txt --reference b.csv"])
    def test_tables_are_no_lines(
        self, line: str, bundle: Path, tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("a.tsv", "b.tsv", "a.txt", "b.csv"):
            (tmp_path / name).write_text("a\tb\n")
        code, out, err = heedful(*line.replace("BUNDLE", str(bundle)).split())
        assert (code, out) == (2, "")
        assert " is a table (." in err
