"""The examples run as they stand, in an empty folder, and say what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.pipeline.little import untrained_bundle

from heedful.config import to_tree
from heedful.decoding.config import BeamSearch, MBRSearch, SampleSearch, SearchConfig
from heedful.export.targets import write_export
from heedful.models.bundle import load_bundle
from heedful.pipeline.load import load

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == [], "an example leaves files behind"
    return done.stdout


def test_attention_alone(tmp_path: Path) -> None:
    out = run("attention_alone.py", tmp_path)
    assert "context [2, 1, 3, 8] weights [2, 1, 3, 5]" in out
    assert "multi-head output [2, 5, 16] weights of each head [2, 4, 5, 5]" in out
    hidden = next(line for line in out.splitlines() if "second sentence" in line)
    assert hidden.endswith("0.0, 0.0]")


@pytest.mark.slow
def test_train_from_python(tmp_path: Path) -> None:
    out = run("train_from_python.py", tmp_path, "60")
    assert "test per: " in out
    assert "a b c d e -> " in out
    assert out.count(" reads ") == 6


def test_no_example_is_forgotten() -> None:
    tested = Path(__file__).read_text("utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.name}"' in tested


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ONNX export of random weights that reads up to 9 tokens."""
    place = tmp_path_factory.mktemp("onnx")
    settings = ("search.max_extra=4", "search.beam=2", "model.positions=learned", "model.max_positions=10")
    bundle = untrained_bundle(place / "model", [("abc de", "cba ed"), ("fghi", "ihgf"), ("jk \ufffd", "kj")], *settings)
    (place / "exported").mkdir()
    write_export(load_bundle(bundle), place / "exported", "onnx", "float32")
    return place / "exported"


def onnx_runner(arguments: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, str(EXAMPLES / "onnx_runner.py"), *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False)


class TestOnnxRunner:
    @pytest.mark.parametrize(
        ("given", "lines", "warned"),
        [
            (b"", [], ""),
            (b"\n", [""], ""),
            (b"abc\n\n \t\nde", ["abc", "", " \t", "de"], ""),
            (b"\xef\xbb\xbfabc\r\nde\r\n", ["abc", "de"], ""),
            (b"ab\xff\nde\n", ["ab\ufffd", "de"], "warning: line 1 is not UTF-8; replaced by U+FFFD"),
            ("de\u2028f\n".encode(), ["de\u2028f"], ""),
        ],
        ids=["nothing", "one blank line", "blank lines", "byte order mark, CRLF", "no UTF-8", "other line ends"],
    )
    def test_reads_as_heedful_does(self, given: bytes, lines: list[str], warned: str, exported: Path) -> None:
        done = onnx_runner([str(exported)], given)
        assert done.returncode == 0, done.stderr.decode()
        wanted = [found.text for found in load(exported.parent / "model").translate(lines)]
        assert done.stdout.decode().split("\n") == [*wanted, ""]
        assert done.stderr.decode().strip() == warned

    @pytest.mark.parametrize(
        ("arguments", "given", "code", "said"),
        [
            (["--beam", "0"], b"abc\n", 2, "--beam must be at least 1, but is 0"),
            (["--beam", "-3"], b"abc\n", 2, "--beam must be at least 1, but is -3"),
            (["nowhere"], b"abc\n", 2, "can't open 'nowhere'"),
            ([], b"abc\nabcdeabcde\n", 1, "error: line 2 has 10 tokens, but this model reads 9."),
        ],
    )
    def test_refuses(self, arguments: list[str], given: bytes, code: int, said: str, exported: Path) -> None:
        done = onnx_runner([str(exported), *arguments], given)
        assert done.returncode == code
        assert said in done.stderr.decode()
        assert b"Traceback" not in done.stderr

    def test_a_folder_that_is_no_export(self, tmp_path: Path) -> None:
        done = onnx_runner([str(tmp_path)], b"abc\n")
        assert (done.returncode, done.stdout) == (2, b"")
        assert "is no ONNX export: it has no step.onnx" in done.stderr.decode()

    def test_more_beams_than_symbols(self, exported: Path) -> None:
        done = onnx_runner([str(exported), "--beam", "60"], b"abc\nde\n")
        assert done.returncode == 0, done.stderr.decode()
        found = load(exported.parent / "model").with_search({"beam": 60}).translate(["abc", "de"])
        assert done.stdout.decode().splitlines() == [one.text for one in found]

    @pytest.mark.parametrize("search", [SampleSearch(max_extra=4), MBRSearch(max_extra=4)])
    def test_a_model_that_samples(self, search: SearchConfig, tmp_path: Path) -> None:
        folder = untrained_bundle(tmp_path / "model", [("abc de", "cba ed"), ("fghi", "ihgf")])
        bundle, exported = load_bundle(folder), tmp_path / "exported"
        exported.mkdir()
        recipe = {**bundle.recipe, "search": to_tree(search)}
        write_export(bundle._replace(recipe=recipe), exported, "onnx", "float32")
        done = onnx_runner([str(exported)], b"abc\n")
        assert (done.returncode, done.stdout) == (1, b"")
        assert f'error: this model was evaluated with search.method = "{search.method}"' in done.stderr.decode()
        done = onnx_runner([str(exported), "--beam", "2"], b"abc\nde\n")
        assert done.returncode == 0, done.stderr.decode()
        found = load(folder).with_search(BeamSearch(beam=2, max_extra=4)).translate(["abc", "de"])
        assert done.stdout.decode().splitlines() == [one.text for one in found]


ALONE = "import runpy, sys\nfor name in ('heedful', 'torch', 'onnx'): sys.modules[name] = None\n"


@pytest.mark.parametrize(
    "tokenizer",
    [
        ("kind=characters", "unicode_form=NFD", "lowercase=true"),
        ("kind=words",),
        ("kind=sentencepiece", "vocab_size=19", "lowercase=true"),
    ],
    ids=["characters", "words", "subwords"],
)
def test_onnx_runner(tokenizer: tuple[str, ...], tmp_path: Path) -> None:
    """Where none of our packages can be imported, it gives the texts that `heedful translate` gives."""
    example = EXAMPLES / "onnx_runner.py"
    pairs = [("abc dé. fghi", "cba éd. ihgf"), ("jk \\n", "kj")]
    settings = [f"tokenizer.source.{setting}" for setting in tokenizer]
    bundle = untrained_bundle(tmp_path / "model", pairs, "search.max_extra=4", *settings)
    exported = tmp_path / "exported"
    exported.mkdir()
    write_export(load_bundle(bundle), exported, "onnx", "float32")
    lines = ["abc dé.", "", "JK", "fghi abc abc", "  ", "z", "\\n jk"]
    (tmp_path / "empty").mkdir()
    for beam in (1, 2, 5):
        wanted = [found.text for found in load(bundle).with_search({"beam": beam}).translate(lines)]
        script = f"{ALONE}sys.argv = ['onnx_runner.py', {str(exported)!r}, '--beam', '{beam}']\n"
        script += f"runpy.run_path({str(example)!r}, run_name='__main__')"
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path / "empty",
            input="".join(f"{line}\n" for line in lines).encode(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.decode().split("\n") == [*wanted, ""]
