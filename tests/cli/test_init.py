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


@pytest.mark.parametrize(
    ("train", "preset"),
    [("['a.en', 'a.de']", "multi30k-tiny"), ("['words.csv']", "character"), ("['a.de', 'sounds']", "multi30k-tiny")],
)
def test_data_given_as_keys_is_looked_at_too(train: str, preset: str, folder: Path, heedful: Callable) -> None:
    (folder / "words.csv").write_text("written,spoken\ncat,K AE T\ndog,D AO G\n")
    (folder / "sounds").write_text("AY N\n")
    columns = ["data.source_column=written", "data.target_column=spoken"] if "csv" in train else []
    code, _, err = heedful("init", f"data.train={train}", "data.dev=['a.en', 'a.de']", *columns)
    assert code == 0, err
    assert f"Preset {preset}, because " in err
    assert tomllib.loads((folder / "recipe.toml").read_text())["preset"] == preset


def test_a_preset_given_as_a_key_is_that_of_the_recipe(folder: Path, heedful: Callable) -> None:
    code, _, err = heedful("init", "preset=character", "data.train=['a.en', 'a.de']", "data.dev=['a.en', 'a.de']")
    assert code == 0
    assert "Preset character, as you said." in err
    assert tomllib.loads((folder / "recipe.toml").read_text())["preset"] == "character"


def test_an_existing_file_is_seen_before_anything_else(folder: Path, heedful: Callable) -> None:
    (folder / "recipe.toml").write_text("mine")
    _, _, err = heedful("init", "--preset", "paperbase", "data.train=['nowhere']")
    assert err.startswith("error: recipe.toml exists already, and stays as it is.\n")


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
