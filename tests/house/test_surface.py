"""The public names: a frozen list, each with a docstring and shown in use."""

import subprocess
import sys

import pytest
from tests.house.source import ROOT

import heedful

PUBLIC = ["attend", "load", "train"]  # changed in the open, with a line in CHANGELOG.md


def test_names_are_frozen() -> None:
    assert list(heedful.__all__) == PUBLIC
    assert len(PUBLIC) <= 25


@pytest.mark.parametrize("name", PUBLIC)
class TestEachName:
    def test_has_a_docstring(self, name: str) -> None:
        assert getattr(heedful, name).__doc__

    def test_is_shown_in_use(self, name: str) -> None:
        """In an example that the tests run, or in the README."""
        texts = [path.read_text("utf-8") for path in [*(ROOT / "examples").glob("*.py"), ROOT / "README.md"]]
        assert any(f"heedful.{name}(" in text or f"import {name}" in text for text in texts)

    def test_is_listed(self, name: str) -> None:
        assert name in dir(heedful)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'heedful' has no attribute 'trian'"):
        _ = heedful.trian


def test_import_costs_nothing() -> None:
    script = "import sys, heedful\nprint([m for m in ('torch', 'numpy', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
