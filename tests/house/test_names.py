"""Names that say something, signatures that say everything, and none of the habits that the house gave up."""

import ast
import re
from collections import defaultdict
from typing import NamedTuple

import pytest
from tests.house.source import EVERY_MODULE, LIBRARY_MODULE, MODULES, FunctionNode, Module, parameters

FORBIDDEN_FILES = {"utils", "util", "helpers", "helper", "common", "misc"}


@pytest.mark.parametrize("module", **EVERY_MODULE)
class TestNames:
    def test_file_name(self, module: Module) -> None:
        assert not FORBIDDEN_FILES & set(module.name.removesuffix(".py").split("/"))

    def test_docstrings(self, module: Module) -> None:
        """The module, and every public class and function outside functions."""
        missing = [] if ast.get_docstring(module.tree) else ["the module"]
        missing += _undocumented(module.tree, "")
        assert missing == []

    def test_every_parameter_has_a_type(self, module: Module) -> None:
        untyped = [
            f"{name}({argument.arg})"
            for name, node in module.functions()
            for argument in parameters(node)
            if argument.annotation is None
        ]
        untyped += [f"{name} -> ?" for name, node in module.functions() if node.returns is None]
        assert untyped == []

    def test_no_mutable_defaults(self, module: Module) -> None:
        mutable = [
            name
            for name, node in module.functions()
            for default in [*node.args.defaults, *node.args.kw_defaults]
            if isinstance(default, ast.List | ast.Dict | ast.Set | ast.Call)
            and not (isinstance(default, ast.Call) and _is_value(default))
        ]
        assert mutable == []

    def test_no_imports_from_the_future_and_no_dispatch_by_hasattr(self, module: Module) -> None:
        imports = [node.module for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom)]
        assert "__future__" not in imports
        calls = [node.func for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        assert not [call for call in calls if isinstance(call, ast.Name) and call.id == "hasattr"]

    def test_comments(self, module: Module) -> None:
        """No banners, no orphaned notes, no code that was commented out."""
        banner = re.compile(r"^\s*#\s*([-=#*~])\1{3,}")
        note = re.compile(r"#\s*(TODO|FIXME|XXX|HACK)\b")
        code = re.compile(r"^\s*#\s*(def |class |import |from \w+ import |return\b|self\.\w+ = )")
        lines = enumerate(module.text.splitlines(), start=1)
        assert [number for number, line in lines if banner.search(line) or note.search(line) or code.search(line)] == []


@pytest.mark.parametrize("module", **LIBRARY_MODULE)
class TestBelowTheCommandLine:
    def test_no_open_keyword_arguments(self, module: Module) -> None:
        assert [name for name, node in module.functions() if node.args.kwarg is not None] == []

    def test_nothing_is_printed(self, module: Module) -> None:
        calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        assert [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"] == []


def _is_value(call: ast.Call) -> bool:
    """Whether a default is built by a class or function that makes something immutable."""
    name = (
        call.func.id
        if isinstance(call.func, ast.Name)
        else call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ""
    )
    return name not in {"list", "dict", "set", "defaultdict", "bytearray"}


class Documented(NamedTuple):
    """A class's bases and the methods that it documents, by name."""

    bases: list[str]
    methods: set[str]


def _class_index() -> dict[str, Documented]:
    index = {}
    for module in MODULES:
        for node in module.classes():
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            methods = {
                child.name for child in node.body if isinstance(child, FunctionNode) and ast.get_docstring(child)
            }
            index[node.name] = Documented(bases, methods)
    return index


CLASSES = _class_index()


def _says_it_already(class_name: str, method: str) -> bool:
    """Whether a base class of ours documents this method."""
    bases = CLASSES[class_name].bases if class_name in CLASSES else []
    return any(
        base in CLASSES and (method in CLASSES[base].methods or _says_it_already(base, method)) for base in bases
    )


def _undocumented(node: ast.AST, owner: str) -> list[str]:
    """Public classes and functions without a docstring; a module's `forward` is documented by its class."""
    missing: list[str] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            missing += [] if ast.get_docstring(child) else [child.name]
            missing += _undocumented(child, child.name)
        elif isinstance(child, FunctionNode) and not child.name.startswith("_"):
            excused = child.name == "forward" or _says_it_already(owner, child.name)
            missing += [] if ast.get_docstring(child) or excused else [f"{owner}.{child.name}".lstrip(".")]
    return missing


def test_no_class_name_occurs_twice() -> None:
    """So that a name in a message, a search or a talk says which class is meant."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        for node in module.classes():
            homes[node.name].append(module.name)
    assert len(homes) > 200
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
