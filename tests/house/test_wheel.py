"""What pip installs is enough: the wheel holds the recipes, and no message names a file that it does not hold."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.house.source import EVERY_MODULE, PACKAGE, ROOT, Module

from heedful.gallery.family import FAMILY
from heedful.gallery.measured import results
from heedful.recipe.recipe import Recipe
from heedful.recipe.shipped import names, recipe_text

# What stands in a clone alone. A bundle's own README.md is no such file, so that name is free.
CLONE = re.compile(
    r"(?<![\w/])(?:docs|recipes|experiments|examples|benchmarks|tests)/|CONTRIBUTING|CHANGELOG|Makefile|make demo"
)
TRACKED = [path for path in sorted(PACKAGE.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
ASSETS = [path for path in TRACKED if path.suffix != ".py"]


def messages(module: Module) -> list[str]:
    """Every text of a module that a user may see: all its strings, but for docstrings that are no help text."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and ast.get_docstring(node) is not None
        and isinstance(node.body[0], ast.Expr)
        and not (module.name.startswith("cli/") and isinstance(node, ast.FunctionDef))
    }
    strings = [node for node in ast.walk(module.tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [str(node.value) for node in strings if id(node) not in docstrings]


@pytest.mark.parametrize("module", **EVERY_MODULE)
def test_no_message_names_a_file_of_the_clone(module: Module) -> None:
    assert [text for text in messages(module) if CLONE.search(text)] == []


@pytest.mark.parametrize("path", ASSETS, ids=[path.name for path in ASSETS])
def test_no_asset_names_a_file_of_the_clone(path: Path) -> None:
    assert CLONE.findall(path.read_text("utf-8")) == []


def test_no_description_of_a_setting_names_a_file_of_the_clone() -> None:
    assert CLONE.findall(json.dumps(Recipe.model_json_schema())) == []


@pytest.mark.parametrize("name", names())
def test_no_copied_recipe_names_a_file_of_the_clone(name: str) -> None:
    assert CLONE.findall(recipe_text(name, Path("mine.toml"))) == []


def test_every_result_names_a_recipe_that_can_be_copied() -> None:
    measured = [result.recipe for page in {member.page for member in FAMILY} for result in results(page)]
    assert measured
    assert set(measured) <= set(names())


def laid_out(site: Path) -> Path:
    """Copy the package as pyproject.toml says that a wheel lays it out."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    for selected in wheel["only-include"]:
        source = next(prefix for prefix in wheel["sources"] if selected == prefix or selected.startswith(f"{prefix}/"))
        target = site / wheel["sources"][source] / Path(selected).relative_to(source)
        shutil.copytree(ROOT / selected, target, ignore=shutil.ignore_patterns("__pycache__"))
    return site


def works_alone(site: Path, scratch: Path) -> None:
    """Copy every recipe by the package in `site`, in a folder that has nothing else, and read one of the copies."""
    commands = [
        *(["init", "--recipe", name, "--output", f"{name}-copy.toml"] for name in names()),
        ["config", "show", "reverse-copy.toml"],
    ]
    script = (
        "import json, sys, heedful\n"
        "from heedful.cli.app import app\n"
        "assert heedful.__file__.startswith(sys.argv[1]), heedful.__file__\n"
        "for words in json.loads(sys.argv[2]):\n"
        "    try:\n"
        "        app(args=words, prog_name='heedful')\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 0, words\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(site), json.dumps(commands)],
        cwd=scratch,
        env={**os.environ, "PYTHONPATH": str(site), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in scratch.iterdir()} == {f"{name}-copy.toml" for name in names()}


def test_the_installed_package_has_its_recipes(tmp_path: Path) -> None:
    """And does not look beside itself for them."""
    (tmp_path / "scratch").mkdir()
    works_alone(laid_out(tmp_path / "site"), tmp_path / "scratch")


def test_without_recipes_the_installation_is_named(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "heedful", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "heedful.cli.app", "init", "--recipe", "reverse"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    assert "This installation of heedful lacks its recipes." in done.stderr
    assert not (tmp_path / "recipe.toml").exists()


@pytest.mark.slow
def test_the_wheel(tmp_path: Path) -> None:
    """The package and the recipes, and nothing else; it works where it is unpacked."""
    pytest.importorskip("hatchling", reason="the build backend is not installed: it is in the extra `dev`")
    build = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *build, str(ROOT)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        archive.extractall(tmp_path / "site")
    assert held == {
        *(f"heedful/{path.relative_to(PACKAGE).as_posix()}" for path in TRACKED),
        *(f"heedful/recipe/recipes/{name}.toml" for name in names()),
    }
    (tmp_path / "scratch").mkdir()
    works_alone(tmp_path / "site", tmp_path / "scratch")
