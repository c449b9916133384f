"""The program as text and syntax trees, for the tests of the house. Imports nothing that it reads."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "heedful"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """One source file; `name` is its path below src/heedful, such as "attention/core.py"."""

    name: str
    text: str
    tree: ast.Module

    def functions(self) -> Iterator[tuple[str, FunctionNode]]:
        """Every function and method with its dotted name."""
        yield from _functions(self.tree, "")

    def classes(self) -> Iterator[ast.ClassDef]:
        """Every class, nested ones too."""
        yield from (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    def definitions(self) -> set[str]:
        """The names that the file itself defines: functions, classes, `Class.method`, and assigned names."""
        return _definitions(self.tree)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, FunctionNode]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            yield prefix + child.name, child
        inner = f"{prefix}{child.name}." if isinstance(child, FunctionNode | ast.ClassDef) else prefix
        yield from _functions(child, inner)


def _definitions(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, FunctionNode):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            names = [name for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            found |= {name.id for name in names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
            members = [child.name for child in node.body if isinstance(child, FunctionNode)]
            members += [
                child.target.id
                for child in node.body
                if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)
            ]
            found |= {f"{node.name}.{member}" for member in members}
    return found


def body_lines(function: FunctionNode) -> int:
    """Lines from `def` to the end, without the docstring."""
    assert function.end_lineno is not None
    length = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None and first.end_lineno is not None:
        length -= first.end_lineno - first.lineno + 1
    return length


def parameters(function: FunctionNode) -> list[ast.arg]:
    """All named parameters but `self` and `cls`."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument for argument in named if argument.arg not in {"self", "cls"}]


def read_modules() -> list[Module]:
    """Every file of the package."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return [Module(str(path.relative_to(PACKAGE)), text := path.read_text("utf-8"), ast.parse(text)) for path in paths]


MODULES = read_modules()
LIBRARY = [module for module in MODULES if not module.name.startswith("cli/")]
EVERY_MODULE = {"argvalues": MODULES, "ids": [module.name for module in MODULES]}  # for pytest.mark.parametrize
LIBRARY_MODULE = {"argvalues": LIBRARY, "ids": [module.name for module in LIBRARY]}
