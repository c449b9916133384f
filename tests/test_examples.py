"""The examples run as they stand, in an empty folder, and say what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.recipe.little import untrained_bundle

from heedful.export.targets import write_export
from heedful.models.bundle import load_bundle
from heedful.recipe.load import load

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
