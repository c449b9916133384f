"""`heedful translate` on random weights: a line in is a line out, whatever its bytes; every option does its part."""

import gzip
import io
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.pipeline.little import untrained_bundle

from heedful.decoding.translator import Translator
from heedful.pipeline.load import load
from heedful.tasks.table import translator_of

PAIRS = [("abc de", "cba ed"), ("fgh\u2028i", "ihg\x0b\x85f"), ("jk ü", "ü kj"), ("lm", "ml")]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_bundle(tmp_path_factory.mktemp("random") / "model", PAIRS)


@pytest.fixture(scope="module")
def subword_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kind = ("tokenizer.source.kind=sentencepiece", "tokenizer.source.vocab_size=22")
    return untrained_bundle(tmp_path_factory.mktemp("subwords") / "model", PAIRS, *kind)


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Put bytes on standard input."""
    return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def expected(bundle: Path, *lines: str) -> str:
    """What the Python interface gives for these lines."""
    return "".join(f"{found.text}\n" for found in load(bundle).translate(lines))


class TestLines:
    def test_file_and_standard_input(self, bundle: Path, tmp_path: Path, give: Callable, heedful: Callable) -> None:
        (tmp_path / "text").write_text("abc\nde fg\n")
        outcome = heedful("translate", str(bundle), str(tmp_path / "text"))
        assert outcome == (0, expected(bundle, "abc", "de fg"), "")
        give(b"abc\nde fg\n")
        assert heedful("translate", str(bundle)) == outcome

    @pytest.mark.parametrize("data", [b"abc\nde", b"abc\r\nde\r\n", b"\xef\xbb\xbfabc\nde\n"])
    def test_ends_of_lines_and_byte_order_mark(
        self, data: bytes, bundle: Path, give: Callable, heedful: Callable
    ) -> None:
        give(data)
        assert heedful("translate", str(bundle)) == (0, expected(bundle, "abc", "de"), "")

    def test_packed_file(self, bundle: Path, tmp_path: Path, heedful: Callable) -> None:
        with gzip.open(tmp_path / "text.gz", "wb") as file:
            file.write(b"abc\nde\n")
        assert heedful("translate", str(bundle), str(tmp_path / "text.gz")).out == expected(bundle, "abc", "de")
        (tmp_path / "plain.gz").write_bytes(b"abc\n")
        outcome = heedful("translate", str(bundle), str(tmp_path / "plain.gz"))
        assert outcome.code == 1
        assert "plain.gz cannot be unpacked" in outcome.err
        assert "hint: " in outcome.err

    def test_blank_lines_stay_blank(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give("\n \nabc\n\u2003\n\n".encode())
        lines = heedful("translate", str(bundle)).out.split("\n")
        assert [bool(line) for line in lines] == [False, False, True, False, False, False]

    def test_line_that_is_no_utf8(self, bundle: Path, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "text").write_bytes(b"abc\nde\xff\nab\n")
        outcome = heedful("translate", str(bundle), str(tmp_path / "text"))
        assert outcome.code == 0
        assert outcome.out == expected(bundle, "abc", "de\ufffd", "ab")
        assert f"warning: {tmp_path}/text:2 is not UTF-8 at byte 3; replaced by U+FFFD" in outcome.err

    def test_unknown_and_long_lines_are_warned_of(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give("abc\nx☃\n".encode())
        assert heedful("translate", str(bundle)).err == "warning: -:2: 2 unknown symbols in the source\n"

    def test_unknown_symbols_of_many_lines_are_one_warning(
        self, bundle: Path, give: Callable, heedful: Callable
    ) -> None:
        give("abc\nx☃\n\n☃\n".encode() * 400)
        wanted = "warning: -: 1200 unknown symbols in the source, in 800 lines, the first of them 2\n"
        assert heedful("translate", str(bundle)).err == wanted

    def test_more_lines_than_are_read_at_once(
        self, bundle: Path, give: Callable, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Lines keep their order, and warnings their line numbers."""
        monkeypatch.setattr("heedful.cli.translate.CHUNK", 2)
        give("abc\n\nde fg h\na\n☃\n".encode())
        outcome = heedful("translate", str(bundle))
        assert outcome.out == expected(bundle, "abc", "", "de fg h", "a", "☃")
        assert outcome.err == "warning: -:5: 1 unknown symbol in the source\n"


@pytest.fixture(scope="module", params=["bundle", "subword_bundle"])
def translator(request: pytest.FixtureRequest) -> Translator:
    return load(request.getfixturevalue(request.param))


class TestAnyBytes:
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.binary(max_size=60) | st.lists(st.text(max_size=12)).map(lambda lines: "\n".join(lines).encode()))
    def test_one_line_in_one_line_out(
        self, data: bytes, translator: Translator, tmp_path: Path, heedful: Callable
    ) -> None:
        output = tmp_path / "output"
        with (
            mock.patch("heedful.pipeline.load.load", return_value=translator),
            mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(data))),
        ):
            outcome = heedful("translate", "model", "--output", str(output))
        assert (outcome.code, outcome.out) == (0, ""), outcome.err
        written = output.read_bytes()
        assert written.count(b"\n") == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        written.decode("utf-8")


class TestOptions:
    def test_output_file(self, bundle: Path, tmp_path: Path, give: Callable, heedful: Callable) -> None:
        give(b"abc\n")
        assert heedful("translate", str(bundle), "--output", str(tmp_path / "new" / "out")) == (0, "", "")
        assert (tmp_path / "new" / "out").read_text() == expected(bundle, "abc")

    def test_output_keeps_what_it_is(self, bundle: Path, tmp_path: Path, give: Callable, heedful: Callable) -> None:
        """A link stays a link, and a file its permissions; - is standard output."""
        target, link = tmp_path / "target", tmp_path / "link"
        target.write_text("former\n")
        target.chmod(0o600)
        link.symlink_to(target)
        give(b"abc\n")
        assert heedful("translate", str(bundle), "--output", str(link)) == (0, "", "")
        assert link.is_symlink()
        assert (target.read_text(), target.stat().st_mode & 0o777) == (expected(bundle, "abc"), 0o600)
        give(b"abc\n")
        assert heedful("translate", str(bundle), "--output", "-").out == expected(bundle, "abc")

    def test_output_stays_as_it_was_after_a_failure(
        self, bundle: Path, tmp_path: Path, give: Callable, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        output = tmp_path / "out"
        output.write_text("former\n")
        monkeypatch.setattr("heedful.cli.translate.CHUNK", 1)

        def fails_second(_self: object, lines: list[str], **_options: object) -> list:
            if lines == ["de"]:
                raise OSError(28, "No space left on device")
            return found

        found = load(bundle).translate(["abc"])
        monkeypatch.setattr("heedful.decoding.translator.Translator.translate", fails_second)
        give(b"abc\nde\n")
        assert heedful("translate", str(bundle), "--output", str(output)).code == 1
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert output.read_text() == "former\n"

    def test_n_best(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give(b"abc\n\nde\n")
        rows = [line.split("\t") for line in heedful("translate", str(bundle), "--n-best", "3").out.split("\n")[:-1]]
        assert [row[:2] for row in rows] == [[n, r] for n in ("1", "3") for r in "123"][:3] + [["2", "1"]] + [
            ["3", r] for r in "123"
        ]
        assert rows[3][3] == ""
        for start in (0, 4):
            scores = [float(row[2]) for row in rows[start : start + 3]]
            assert scores == sorted(scores, reverse=True)
            assert len({row[3] for row in rows[start : start + 3]}) == 3

    def test_prefix(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give(b"abc\n\nde\n")
        first, blank, last = heedful("translate", str(bundle), "--prefix", "ml").out.split("\n")[:-1]
        assert first.startswith("ml")
        assert last.startswith("ml")
        assert blank == ""

    def test_greedy(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        loaded = load(bundle)
        greedy = translator_of(loaded.backend.model, loaded.tokenizers, loaded.search.model_copy(update={"beam": 1}))
        lines = ["abc", "de fg", "jk ü"]
        give("".join(f"{line}\n" for line in lines).encode())
        wanted = "".join(f"{found.text}\n" for found in greedy.translate(lines))
        assert heedful("translate", str(bundle), "--beam", "1").out == wanted

    def test_sampling(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        """A seed gives the same samples again; one candidate leaves no choice."""

        def sampled(*options: str) -> str:
            give(b"abc de\nfgh\n" * 3)
            outcome = heedful("translate", str(bundle), *options)
            assert outcome.code == 0, outcome.err
            return outcome.out

        free = sampled("--temperature", "2", "--seed", "1")
        assert free == sampled("--temperature", "2", "--seed", "1")
        assert free != sampled("--temperature", "2", "--seed", "2")
        greedy = sampled("--beam", "1")
        assert sampled("--temperature", "2", "--top-k", "1") == greedy
        assert sampled("--temperature", "2", "--top-p", "0.000001") == greedy
        assert len(sampled("--temperature", "1", "--n-best", "4").split("\n")) == 25

    def test_beams_do_not_sample(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give(b"abc\n")
        outcome = heedful("translate", str(bundle), "--beam", "2", "--temperature", "1")
        assert (outcome.code, outcome.out) == (2, "")
        assert '`search.beam` is of `search.method` = "beam" or "mbr", but that is "sample".' in outcome.err
        assert "hint: Leave one of them out." in outcome.err

    @pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
    def test_precision(self, precision: str, bundle: Path, give: Callable, heedful: Callable) -> None:
        give(b"abc\nde fg\n")
        found = load(bundle).with_search({"precision": precision}).translate(["abc", "de fg"])
        wanted = "".join(f"{one.text}\n" for one in found)
        assert heedful("translate", str(bundle), "--type", precision) == (0, wanted, "")

    def test_wrong_precision(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give(b"abc\n")
        outcome = heedful("translate", str(bundle), "--type", "float8")
        assert outcome.code == 2
        assert "precision" in outcome.err
        assert "'float32', 'bfloat16' or 'int8'" in outcome.err

    def test_json(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give("abc\n\nü☃\n".encode())
        outcome = heedful("translate", str(bundle), "--n-best", "2", "--json")
        first, blank, last = map(json.loads, outcome.out.split("\n")[:-1])
        assert [(one["line"], one["source"]) for one in (first, blank, last)] == [(1, "abc"), (2, ""), (3, "ü☃")]
        assert (blank["text"], blank["score"], blank["warnings"]) == ("", 0.0, [])
        assert [one["unknown"] for one in (first, blank, last)] == [0, 0, 1]
        for candidate in first["n_best"]:
            assert sum(log_p for _, log_p in candidate["tokens"]) == pytest.approx(candidate["log_p"], abs=1e-5)
            length = len(candidate["tokens"])
            assert candidate["score"] == pytest.approx(candidate["log_p"] / ((5 + length) / 6) ** 0.6, abs=1e-5)
            assert candidate["tokens"][-1][0] == "</s>"
        assert first["n_best"][0]["text"] == first["text"]
        assert math.isclose(first["n_best"][0]["score"], first["score"])


def test_learned_positions_are_enough(tmp_path: Path, give: Callable, heedful: Callable) -> None:
    """A line that is longer than the positions is translated in parts, with a warning, and outputs end in time."""
    positions = ("model.positions=learned", "model.max_positions=8", "search.max_extra=50")
    folder = untrained_bundle(tmp_path / "model", PAIRS, *positions)
    give(b"abc de fgh jk lm ab\nabc\n")
    outcome = heedful("translate", str(folder))
    assert outcome.code == 0, outcome.err
    assert outcome.err == "warning: -:1: longer than 7 tokens: translated in 3 parts\n"
    assert len(outcome.out.split("\n")[1]) <= 7
