"""Standard input and output: one reader, one writer, whatever the locale; closed streams and pipes are said or used."""

import ast
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import untrained_bundle

from heedful.cli import app as frame
from heedful.cli.lines import read_chunks, read_lines
from heedful.cli.streams import print_json
from heedful.data.corpus import count_pairs, read_pairs

PAIRS = [("abc de", "cba ed"), ("fghi", "ihgf"), ("jk ü", "ü kj"), ("lm", "ml")]
CLI = Path(frame.__file__).parent


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_bundle(tmp_path_factory.mktemp("random") / "model", PAIRS)


def shell(line: str, **settings: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which $H is the command."""
    environment = {**os.environ, "H": f"{sys.executable} -m heedful", **settings}
    return subprocess.run(["bash", "-c", line], capture_output=True, env=environment, check=False)


class TestLocale:
    @pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
    def test_output_is_utf8_in_every_locale(self, encoding: str, tmp_path: Path) -> None:
        """The signs ⇒ and ü are bytes of UTF-8, and no error."""
        (tmp_path / "ü⇒.toml").write_text('preset = "paper-base"\nx = 2\n[data]\ncatalogue = "copy"\n')
        line = f"cd {tmp_path} && $H config show ü⇒.toml; $H init --output ./ü⇒2.toml"
        done = shell(line, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
        assert "ü⇒.toml, line 2: unknown key `x`" in done.stderr.decode("utf-8")
        assert done.stdout.decode("utf-8") == "ü⇒2.toml\n"

    def test_a_name_that_is_no_utf8_comes_back_as_it_was(self, tmp_path: Path) -> None:
        done = shell(f"cd {tmp_path} && $H init --output $'r\\xff.toml'")
        assert (done.returncode, done.stdout) == (0, b"r\xff.toml\n")


class TestClosed:
    @pytest.mark.parametrize("verb", ["config presets", "config presets --json", "runs list .", "data list"])
    def test_output(self, verb: str) -> None:
        done = shell(f"$H {verb} >&-")
        assert done.returncode == 1
        assert done.stderr == (
            b"error: Standard output is closed, so the result has nowhere to go.\n"
            b"hint: Send it to a file (> FILE), or away (> /dev/null).\n"
        )

    @pytest.mark.parametrize("verb", ["translate BUNDLE", "inspect BUNDLE -", "score BUNDLE - text", "data check -"])
    def test_input(self, verb: str, bundle: Path, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("ab\n")
        done = shell(f"cd {tmp_path} && $H {verb.replace('BUNDLE', str(bundle))} <&-")
        assert done.returncode == 2
        assert done.stderr.decode() == "error: Standard input is closed.\nhint: Name a file, or pipe the lines in.\n"

    def test_errors(self, tmp_path: Path) -> None:
        """No file that is written gets what is meant for standard error."""
        done = shell(f"cd {tmp_path} && $H init --output r.toml 2>&- && $H config show nowhere.toml 2>&-; echo $?")
        assert done.stdout == b"r.toml\n2\n"
        assert b"Next:" not in (tmp_path / "r.toml").read_bytes()


class TestMark:
    """A byte order mark at the start of standard input is no part of the first line, in every verb that reads it."""

    @pytest.fixture
    def give(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
        return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="latin-1"))

    def test_inspect(self, bundle: Path, give: Callable, heedful: Callable) -> None:
        give("\ufeffabü\r\nde\n".encode())
        outcome = heedful("inspect", str(bundle), "-", "--json")
        assert [json.loads(line)["source"][:-1] for line in outcome.out.splitlines()] == [list("abü"), list("de")]

    def test_score_and_translate(self, bundle: Path, give: Callable, heedful: Callable, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("ab\n")
        text = str(tmp_path / "text")
        for arguments in (["translate", str(bundle)], ["score", str(bundle), "-", text]):
            give(b"ab\n")
            plain = heedful(*arguments)
            give(b"\xef\xbb\xbfab\n")
            assert heedful(*arguments) == plain

    def test_data_check(self, give: Callable, heedful: Callable) -> None:
        give("\ufeffab\tcd\nef\tgh\n".encode())
        assert heedful("data", "check", "-") == (0, "", "No errors, 0 warning(s).\n")


def test_the_module_is_the_command() -> None:
    done = shell("$H --version")
    assert (done.returncode, done.stdout[:8]) == (0, b"heedful ")
    assert b"Usage: heedful " in shell("$H --help").stdout


class TestJson:
    def test_is_strict(self, capfd: pytest.CaptureFixture[str]) -> None:
        print_json({"a": [float("nan"), float("inf")], "b": (float("-inf"), 1.5)})

        def refuse(constant: str) -> None:
            raise ValueError(constant)

        found = json.loads(capfd.readouterr().out, parse_constant=refuse)
        assert found == {"a": ["nan", "inf"], "b": ["-inf", 1.5]}

    def test_a_path_that_is_no_utf8_is_escaped(self, capfd: pytest.CaptureFixture[str]) -> None:
        print_json({"ü": "r\udcff"})
        assert json.loads(capfd.readouterr().out.encode("ascii")) == {"ü": "r\udcff"}

    @pytest.mark.parametrize("path", sorted(CLI.glob("*.py")), ids=lambda path: path.name)
    def test_no_verb_writes_json_another_way(self, path: Path) -> None:
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        names = [call.attr for call in calls if isinstance(call, ast.Attribute)]
        assert "dumps" not in names
        read = [node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)]
        assert "stdin" not in read, "lines.py reads for all"


class TestPipes:
    def test_pairs_are_read_as_often_as_they_are_needed(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        writer = subprocess.Popen(["bash", "-c", f"printf 'a\\tb\\nc\\td\\n' > {tmp_path}/pipe"])
        assert count_pairs([tmp_path / "pipe"]) == 2
        assert list(read_pairs([tmp_path / "pipe"])) == [("a", "b"), ("c", "d")]
        assert writer.wait() == 0

    def test_packed(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.tsv.gz")
        writer = subprocess.Popen(["bash", "-c", f"printf 'a\\tb\\n' | gzip > {tmp_path}/pipe.tsv.gz"])
        assert list(read_pairs([tmp_path / "pipe.tsv.gz"])) == [("a", "b")]
        assert list(read_lines(Path("/dev/null"))) == []
        assert writer.wait() == 0

    @pytest.mark.parametrize(
        ("line", "found"),
        [
            ("data check <(printf 'a b\\tb a\\nc\\td\\n') --dev <(printf 'x\\ty\\n')", ""),
            ("data check <(printf 'a b\\nc\\n') <(printf 'b a\\nd\\n')", ""),
            ("data split - --out out --dev 1 --test 0", "out/train.tsv\nout/dev.tsv\n"),
            ("data check --tokenizers BUNDLE -", ""),
            ("evaluate BUNDLE --source <(printf 'ab\\n') --reference - > /dev/null", ""),
        ],
    )
    def test_verbs(self, line: str, found: str, bundle: Path, tmp_path: Path) -> None:
        given = f"cd {tmp_path} && printf 'ab\\tba\\nfgh\\thgf\\n' | $H {line.replace('BUNDLE', str(bundle))}"
        if "evaluate" in line:
            given = given.replace("\\nfgh\\thgf", "")
        done = shell(given)
        assert (done.returncode, done.stdout.decode()) == (0, found), done.stderr

    def test_align(self, bundle: Path) -> None:
        done = shell(f"printf 'ab\\tba\\n' | $H align {bundle} - && $H align {bundle} <(printf 'ab\\tba\\n')")
        first, second = done.stdout.decode().splitlines()
        assert first == second != ""

    @pytest.mark.parametrize(
        "line", ["data check - -", "data check - --dev -", "score BUNDLE - -", "align BUNDLE - --gold -"]
    )
    def test_one_file_only_is_standard_input(self, line: str, bundle: Path, heedful: Callable) -> None:
        outcome = heedful(*line.replace("BUNDLE", str(bundle)).split())
        assert (outcome.code, outcome.out) == (2, "")
        assert "error: Standard input can stand for one file only." in outcome.err


class TestArriving:
    def test_chunks_are_what_has_arrived(self) -> None:
        read_end, write_end = os.pipe()
        os.write(write_end, b"a\nb\nc")
        chunks = read_chunks(Path(f"/dev/fd/{read_end}"), 1000)
        assert next(chunks) == ["a", "b"]
        os.write(write_end, b"d\r\n")
        assert next(chunks) == ["cd"]
        os.write(write_end, b"e\nf")
        os.close(write_end)
        assert [line for chunk in chunks for line in chunk] == ["e", "f"]
        os.close(read_end)

    def test_no_more_than_asked_for(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("a\nb\nc\n")
        os.mkfifo(tmp_path / "pipe")
        writer = subprocess.Popen(["bash", "-c", f"cat {tmp_path}/text > {tmp_path}/pipe"])
        wanted = [["a", "b"], ["c"]]
        assert list(read_chunks(tmp_path / "text", 2)) == wanted
        assert list(read_chunks(tmp_path / "pipe", 2)) == wanted
        assert writer.wait() == 0

    def test_a_long_line_in_many_blocks(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        writer = subprocess.Popen(["bash", "-c", f"head -c 300000 /dev/zero | tr '\\0' x > {tmp_path}/pipe"])
        assert list(read_chunks(tmp_path / "pipe", 2)) == [["x" * 300_000]]
        assert writer.wait() == 0

    def test_translate_answers_before_the_next_line_is_there(self, bundle: Path) -> None:
        command = [sys.executable, "-m", "heedful", "translate", str(bundle)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            answers = []
            for line in (b"abc\n", b"de\n", b"\n"):
                running.stdin.write(line)
                answers.append(running.stdout.readline())  # would wait for ever
                time.sleep(0.01)
            running.stdin.close()
            assert running.stdout.read() == b""
        assert running.returncode == 0
        assert [answer.count(b"\n") for answer in answers] == [1, 1, 1]
        assert answers[2] == b"\n"
