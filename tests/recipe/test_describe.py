"""What recipes and presets come to, asked by name."""

from pathlib import Path

import pytest

from heedful.errors import ConfigError
from heedful.recipe.describe import Setting, compare_named, resolve_named, settings


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text('preset = "character"\nseed = 3\n\n[data]\ncatalogue = "reverse"\n')
    return path


def test_file_layers_over_its_preset(recipe: Path) -> None:
    found = {setting.key: setting for setting in settings(str(recipe), ["seed=4"])}
    assert found["seed"] == Setting("seed", 4, "command line")
    assert found["data.catalogue"] == Setting("data.catalogue", "reverse", f"{recipe}, line 5")
    assert found["model.norm"] == Setting("model.norm", "pre", "preset character")
    assert found["training.log_every"].origin == "default"


def test_preset_by_name() -> None:
    assert resolve_named("paper-big").config.model.d_model == 1024


def test_preset_takes_data_from_the_command_line() -> None:
    found = {setting.key: setting.origin for setting in settings("character", ["data.catalogue=cmudict"])}
    assert found["data.catalogue"] == "command line"


def test_a_file_is_meant_where_the_name_ends_like_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No configuration file"):
        resolve_named(str(tmp_path / "character.toml"))


def test_a_file_named_like_a_preset_wins(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe.rename(recipe.with_name("paper-big"))
    monkeypatch.chdir(recipe.parent)
    assert resolve_named("paper-big").config.seed == 3


def test_differences_of_a_recipe_to_its_preset(recipe: Path) -> None:
    assert [found.key for found in compare_named(str(recipe), "character")] == ["seed", "data.catalogue"]
