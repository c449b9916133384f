"""The public names: a frozen list, each with a docstring and shown in use."""

import re
import subprocess
import sys
from importlib import import_module

import pytest
from tests.house.source import ROOT

import heedful

PUBLIC = [  # changed in the open, with a line in CHANGELOG.md
    *(
        "BeamSearch",
        "CheckFailed",
        "ConfigError",
        "HeedfulError",
        "Interrupted",
        "MBRSearch",
        "Mask",
        "MultiHeadAttention",
    ),
    *("Pair", "Recipe", "Run", "SampleSearch", "Translator", "attend", "compare", "evaluate", "export_model"),
    *("load", "load_recipe", "read_pairs", "report_run", "score_outputs", "train"),
]


def test_names_are_frozen() -> None:
    assert list(heedful.__all__) == PUBLIC
    assert len(PUBLIC) <= 25


@pytest.mark.parametrize("name", PUBLIC)
class TestEachName:
    def test_has_a_docstring(self, name: str) -> None:
        assert getattr(heedful, name).__doc__

    def test_is_shown_in_use(self, name: str) -> None:
        """On the page that the tests run."""
        assert f"heedful.{name}" in (ROOT / "docs" / "python.md").read_text("utf-8")

    def test_has_a_type_for_checkers(self, name: str) -> None:
        """What checkers read is what runs: the import for them names the home that the name is loaded from."""
        text = (ROOT / "src" / "heedful" / "__init__.py").read_text("utf-8")
        (home,) = re.findall(rf"^    from heedful\.([\w.]+) import .*\b{name}\b", text, re.MULTILINE)
        assert getattr(import_module(f"heedful.{home}"), name) is getattr(heedful, name)

    def test_is_listed(self, name: str) -> None:
        assert name in dir(heedful)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'heedful' has no attribute 'trian'"):
        _ = heedful.trian


def test_import_costs_nothing() -> None:
    script = "import sys, heedful\nprint([m for m in ('torch', 'numpy', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
