"""An option that nobody reads is a lie; so is a recipe with a key that means nothing."""

import ast
import importlib
from pathlib import Path

import pytest
from tests.house.source import MODULES, ROOT

from heedful.config import Config
from heedful.recipe.recipe import Recipe, load_recipe

RECIPES = sorted((ROOT / "recipes").glob("*.toml"))
SAID_BY_THE_PAPER = {
    "kind",
    "n_encoder_layers",
    "n_decoder_layers",
    "norm_epsilon",
    "label_smoothing",
    "max_updates",
    "optimizer_betas",
    "optimizer_epsilon",
}
READ_AS_A_KEY = {"preset"}  # by resolve_recipe, before there is a Recipe
SECTION_FILES = [module.name for module in MODULES if module.name.endswith(("/config.py", "_config.py"))] + [
    "recipe/recipe.py"
]


def sections() -> list[type[Config]]:
    """Every configuration class of the program, the recipe first."""
    found: list[type[Config]] = [Recipe]
    for name in SECTION_FILES:
        module = importlib.import_module("heedful." + name.removesuffix(".py").replace("/", "."))
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Config) and value.__module__ == module.__name__
        ]
    return list(dict.fromkeys(found))


def reads_of(field: str, home: str) -> list[str]:
    """The files that read an attribute of this name, apart from the one that defines it; `home` may in a property."""
    readers = []
    for module in MODULES:
        reads = [node for node in ast.walk(module.tree) if isinstance(node, ast.Attribute) and node.attr == field]
        if module.name == home:
            reads = [node for node in reads if _in_a_property(node, module.tree)]
        if any(isinstance(node.ctx, ast.Load) for node in reads):
            readers.append(module.name)
    return readers


def _in_a_property(read: ast.Attribute, tree: ast.Module) -> bool:
    properties = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
    ]
    return any(read in ast.walk(node) for node in properties)


FIELDS = [(section, field) for section in sections() for field in section.model_fields]
READ = [(section, field) for section, field in FIELDS if field not in READ_AS_A_KEY]


@pytest.mark.parametrize(("section", "field"), READ, ids=[f"{s.__name__}.{f}" for s, f in READ])
def test_every_option_is_read(section: type[Config], field: str) -> None:
    home = section.__module__.removeprefix("heedful.").replace(".", "/") + ".py"
    assert reads_of(field, home), f"nothing reads {section.__name__}.{field}"


@pytest.mark.parametrize(("section", "field"), FIELDS, ids=[f"{s.__name__}.{f}" for s, f in FIELDS])
def test_every_option_is_described(section: type[Config], field: str) -> None:
    """By a description of its own, by its section's docstring, or by the paper."""
    info = section.model_fields[field]
    is_section = any(issubclass(kind, Config) for kind in _types(info.annotation))
    assert info.description or is_section or f"`{field}" in (section.__doc__ or "") or field in SAID_BY_THE_PAPER


def _types(annotation: object) -> list[type]:
    if isinstance(annotation, type):
        return [annotation]
    return [found for argument in getattr(annotation, "__args__", ()) for found in _types(argument)]


def test_there_are_recipes() -> None:
    assert RECIPES


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_recipes_load(path: Path) -> None:
    assert load_recipe(path).data is not None
