"""Imports go down only, and what should start at once imports no torch."""

import subprocess
import sys

import pytest
from importlinter.cli import lint_imports
from tests.house.source import MODULES, ROOT

LIGHT = [
    module.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for module in MODULES
    if module.name.split("/")[0] in {"text", "records", "cli", "config.py", "errors.py", "seeds.py"}
    or (
        module.name.endswith(("/config.py", "_config.py", "/kinds.py", "/__init__.py"))
        and not module.name.startswith("attention/")
    )
]


def test_imports_go_down_only(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    failed = lint_imports(no_cache=True)
    assert not failed, capfd.readouterr().out


def test_light_modules_import_no_torch() -> None:
    """In one fresh process, one after the other, so that the first heavy one is named."""
    script = (
        "import importlib, sys\n"
        f"for name in {LIGHT}:\n"
        "    importlib.import_module(f'heedful.{name}')\n"
        "    if 'torch' in sys.modules:\n"
        "        sys.exit(f'heedful.{name} imports torch')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
