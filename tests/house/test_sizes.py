"""A file is one room, a function fits a screen, and an argument list can be remembered."""

import ast

import pytest
from tests.house.source import EVERY_MODULE, LIBRARY_MODULE, Module, body_lines, parameters


@pytest.mark.parametrize("module", **EVERY_MODULE)
class TestSizes:
    def test_file(self, module: Module) -> None:
        lines = module.text.count("\n")
        assert lines <= 300, f"{module.name} has {lines} lines"

    def test_functions(self, module: Module) -> None:
        long = {name: body_lines(node) for name, node in module.functions() if body_lines(node) > 60}
        assert long == {}

    def test_constructors(self, module: Module) -> None:
        crowded = {
            name: len(parameters(node))
            for name, node in module.functions()
            if name.endswith("__init__") and len(parameters(node)) > 8
        }
        assert crowded == {}


@pytest.mark.parametrize("module", **LIBRARY_MODULE)
def test_at_most_one_switch_a_function(module: Module) -> None:
    """Options of the command line apart."""
    switched = {}
    for name, node in module.functions():
        switches = [argument.arg for argument in parameters(node) if _is_bool(argument.annotation)]
        if len(switches) > 1:
            switched[name] = switches
    assert switched == {}


def _is_bool(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "bool"
