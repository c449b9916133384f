"""`heedful init`: one file, one line of result, and nothing ever replaced."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.en": "a dog runs\n", "a.de": "ein Hund rennt\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_own_files(folder: Path, heedful: Callable) -> None:
    code, out, err = heedful(
        "init", "--train", "a.en", "a.de", "--dev", "a.en", "a.de", "--output", "mine.toml", "seed=5"
    )
    assert (code, out) == (0, "mine.toml\n")
    assert "Preset multi30k-tiny, because there are fewer than 500,000 pairs" in err
    assert "heedful train mine.toml --dry-run" in err
    written = tomllib.loads((folder / "mine.toml").read_text())
    assert written["data"]["train"] == ["a.en", "a.de"]
    assert written["seed"] == 5


def test_twice(folder: Path, heedful: Callable) -> None:
    assert heedful("init").code == 0
    before = (folder / "recipe.toml").read_bytes()
    code, out, err = heedful("init", "--preset", "character")
    assert (code, out) == (2, "")
    assert err.startswith("error: recipe.toml exists already, and stays as it is.\n")
    assert (folder / "recipe.toml").read_bytes() == before


def test_unknown_preset_writes_nothing(folder: Path, heedful: Callable) -> None:
    code, _, err = heedful("init", "--preset", "paperbase")
    assert code == 2
    assert "Did you mean `paper-base`?" in err
    assert not (folder / "recipe.toml").exists()


def test_written_recipe_can_be_shown(heedful: Callable) -> None:
    assert heedful("init", "--preset", "character", "data.catalogue=cmudict").code == 0
    code, out, _ = heedful("config", "show", "recipe.toml")
    assert code == 0
    assert "recipe.toml, line" in out
