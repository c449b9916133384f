"""Imports go down only, and what should start at once imports no torch."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter

import pytest
from importlinter.cli import lint_imports
from tests.house.source import MODULES, ROOT, parameters

from heedful.decoding.config import METHODS

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


def _imports(node: ast.AST) -> Iterator[str]:
    """What is imported while the program runs, inside functions too; not what is imported for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
            yield str(child.module)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        yield from _imports(child)


def test_no_import_goes_in_a_circle() -> None:
    names = {f"heedful.{module.name[:-3].replace('/', '.')}".removesuffix(".__init__"): module for module in MODULES}
    graph = {name: {one for one in _imports(module.tree) if one in names} - {name} for name, module in names.items()}
    assert sum(map(len, graph.values())) > 500
    packages = {name for name in names if any(other.startswith(f"{name}.") for other in names)} - {"heedful.attention"}
    for name in packages:  # `from heedful.data import lines` imports a module, and nothing of the package
        graph[name] = set()
    assert len(list(TopologicalSorter(graph).static_order())) == len(names)


OF_SEARCH = sorted({name for method in METHODS.values() for name in method.model_fields} - {"method"})

OF_ONE_METHOD = {name for method in METHODS.values() for name in method.own_settings()} - {"method"}


@pytest.mark.parametrize("setting", OF_SEARCH)
def test_a_setting_of_search_is_declared_once(setting: str) -> None:
    """In one class, with its type and its default; command-line options are made from it, and none is written out."""
    declared = [
        module.name
        for module in MODULES
        for node in module.classes()
        for line in node.body
        if module.name == "decoding/config.py" and isinstance(line, ast.AnnAssign)
        if ast.unparse(line.target) == setting and isinstance(line.value, ast.Call)
        if ast.unparse(line.value.func) == "Field"
    ]
    assert len(declared) == 1
    if setting == "precision":  # is chosen together with an engine
        return
    written_out = [
        f"{module.name}: {name}"
        for module in MODULES
        if module.name.startswith("cli/") and "with_search_options" in module.text
        for name, function in module.functions()
        for parameter in parameters(function)
        if parameter.arg == setting and "Option" in ast.unparse(parameter.annotation or ast.Constant(""))
    ]
    assert written_out == []


def test_no_other_class_has_settings_of_search() -> None:
    copies = [
        f"{module.name}: {node.name}"
        for module in MODULES
        if module.name != "decoding/config.py"
        for node in module.classes()
        if sum(isinstance(line, ast.AnnAssign) and ast.unparse(line.target) in OF_ONE_METHOD for line in node.body) > 1
    ]
    assert copies == []
