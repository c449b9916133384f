"""Imports go down only, and what should start at once imports no torch."""

import ast
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


def test_the_core_works_without_the_gallery() -> None:
    """In a process that cannot import it: every kind of the core is built."""
    script = (
        "import sys\n"
        "sys.modules['heedful.gallery'] = None\n"
        "import heedful.decoding.translator, heedful.evaluation.report, heedful.export.targets, heedful.tasks.table\n"
        "from heedful.models.kinds import CORE_KINDS\n"
        "from heedful.models.transformer_config import TransformerConfig\n"
        "for kind in CORE_KINDS:\n"
        "    __import__(kind.network.partition(':')[0])\n"
        "model = CORE_KINDS.build(TransformerConfig(norm='pre', activation='relu', d_model=8, n_heads=2), 9, 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_tasks_ask_what_a_model_is() -> None:
    """Whether it has a decoder is asked in one room; all else is told by the task."""
    asked, tests = {"Seq2Seq", "EncoderOnly"}, {"isinstance", "issubclass"}
    found = [
        module.name
        for module in MODULES
        if not module.name.startswith("tasks/")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in tests
        if asked & {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
    ]
    assert found == []
