"""An error in a recipe is laid to the layer that made it: a file with its line, or the command line."""

from pathlib import Path

import pytest

from heedful.errors import ConfigError
from heedful.recipe.recipe import load_recipe

FILE = """preset = "character"
[data]
catalogue = "copy"
[model]
kind = "transformer"
n_heads = 4
[training]
keep_last = 3
average_last = 3
"""


def refusal(folder: Path, *overrides: str, text: str = FILE) -> ConfigError:
    (folder / "r.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_recipe(folder / "r.toml", overrides)
    return caught.value


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.average_last=9", "[training]: average_last (9) cannot exceed keep_last (3)."),
        ("training.keep_last=1", "[training]: average_last (3) cannot exceed keep_last (1)."),
        ("model.n_heads=7", "[model]: `n_heads` must divide `d_model`"),
        ("d_model=64", "unknown key `d_model`."),
        ("training.optimizer_betas=[0.5]", "`training.optimizer_betas` has entries missing: [0.5]."),
        ("data.train=['a','b','c']", "`data.train` must have at most 2 items: ['a', 'b', 'c']."),
    ],
)
def test_of_an_override(override: str, message: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, override).message.startswith(f"command line: {message}")


def test_of_the_file_beside_an_override_of_the_same_table(tmp_path: Path) -> None:
    error = refusal(tmp_path, "training.device=cpu", text=FILE.replace("average_last = 3", "average_last = 9"))
    assert error.message.startswith(f"{tmp_path / 'r.toml'}, line 9: [training]: average_last (9) cannot exceed")


def test_a_kind_that_leaves_keys_of_the_former_one(tmp_path: Path) -> None:
    error = refusal(tmp_path, "model.kind=rnn", "model.attention=none")
    place = tmp_path / "r.toml"
    assert error.message.startswith('command line: `model.kind` = "rnn" has no `')
    assert error.message.endswith(" sets.")
    assert "preset" in error.message or str(place) in error.message
    assert 'write another recipe for "rnn"' in str(error.hint)


def test_a_key_of_another_kind_in_one_file(tmp_path: Path) -> None:
    error = refusal(tmp_path, text=FILE.replace("n_heads = 4", 'n_heads = 4\nattention = "none"'))
    assert error.message == f"{tmp_path / 'r.toml'}, line 7: unknown key `model.attention`."
    assert error.hint == 'It is a key of `model.kind` = "rnn".'
