"""Where a package of an extra is not installed, every way to it says which extra brings it, and nothing is left."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.house.source import ROOT
from tests.pipeline.little import untrained_bundle

from heedful.config import read_toml
from heedful.errors import HeedfulError
from heedful.export.optional_packages import EXTRAS, package
from heedful.export.targets import NEEDS, TARGETS, write_export
from heedful.models.bundle import load_bundle

PAIRS = [("abc de", "cba ed"), ("fghi", "ihgf"), ("jk", "kj")]
READ_HERE = ("ctranslate2", "onnx")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle, its exports, and some text."""
    place = tmp_path_factory.mktemp("place")
    bundle = load_bundle(untrained_bundle(place / "model", PAIRS))
    for target in READ_HERE:
        (place / target).mkdir()
        write_export(bundle, place / target, target, "float32")
    (place / "text").write_text("abc\n")
    (place / "checkpoint").mkdir()
    (place / "checkpoint" / "config.json").write_text("{}")
    return place


def commands(target: str) -> list[str]:
    """All that need the packages of a target; words as they are in `place`."""
    export = [f"export model OUT --to {target} --dev text --type {kind}" for kind in ("float32", "auto")]
    if target == "huggingface":
        return [*export[:1], "import checkpoint OUT"]
    if target == "onnx":
        export.append("export model OUT --to onnx --dev text --type int8")
    engine = [f"{verb} --engine {target}" for verb in ("translate model text", "evaluate model --source text")]
    return [*export, *engine, f"translate model text --engine {target} --type auto"]


def readings(target: str) -> list[str]:
    """All that read an export of a target."""
    return [f"translate {target} text", f"evaluate {target} --source text", f"score {target} text text"]


CASES = [(name, line) for target in TARGETS for name in NEEDS[target] for line in commands(target)]
CASES += [
    (name, line)
    for target, name in (("ctranslate2", "ctranslate2"), ("onnx", "onnxruntime"))
    for line in readings(target)
]


@pytest.mark.parametrize(("name", "line"), CASES, ids=[f"{line} without {name}" for name, line in CASES])
def test_says_what_to_install(
    name: str, line: str, place: Path, tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(place)
    for loaded in [module for module in sys.modules if module.split(".")[0] == name]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, name, None)
    arguments = line.replace("OUT", str(tmp_path / "out")).split()
    if "evaluate" in arguments:
        arguments += ["--reference", "text"]
    outcome = heedful(*arguments)
    said = f"error: The package {name} is not installed.\nhint: Install it: pip install 'heedful[{EXTRAS[name]}]'.\n"
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.endswith(said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ["translate huggingface text", "translate onnx text"])
def test_what_needs_none(line: str, place: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX exports are read without onnx; those for transformers are no engine, whatever is installed."""
    monkeypatch.chdir(place)
    for name in ("onnx", "transformers", "ctranslate2"):
        monkeypatch.setitem(sys.modules, name, None)
    assert heedful(*line.split()).code == (2 if "huggingface" in line else 0)


def test_a_package_that_is_there_and_does_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "onnx", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "onnx.py").write_text("raise ImportError('libfoo.so is missing')\n")
    with pytest.raises(HeedfulError, match=r"The package onnx does not load: libfoo\.so is missing\."):
        package("onnx")
    (tmp_path / "onnx.py").write_text("import no_such_package\n")
    with pytest.raises(HeedfulError, match=r"The package no_such_package, which onnx needs, is not installed\."):
        package("onnx")


def test_one_that_is_there() -> None:
    assert isinstance(package("onnx"), ModuleType)


def test_the_extras_bring_them() -> None:
    extras = read_toml(ROOT / "pyproject.toml").values["project"]["optional-dependencies"]
    for name, extra in EXTRAS.items():
        assert any(requirement.startswith(f"{name}>") for requirement in extras[extra])
        assert any(requirement.startswith(f"{name}>") for requirement in extras["dev"])
    assert {name for names in NEEDS.values() for name in names} == EXTRAS.keys()
