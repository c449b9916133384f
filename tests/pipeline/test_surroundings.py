"""What a run needs around it is looked at before any work: the device, and data that can be read again."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.pipeline.little import QUICK, little_settings

from heedful.errors import ConfigError
from heedful.pipeline.overfit import overfit
from heedful.pipeline.train import dry_run, train
from heedful.recipe.recipe import Recipe, load_recipe

WAYS = {
    "train": lambda recipe, folder, report: train(recipe, folder, report=report),
    "dry run": lambda recipe, folder, report: dry_run(recipe, folder, report),
    "overfit": lambda recipe, _, report: overfit(recipe, 2, report),
}


def refusal(recipe: Recipe, way: Callable, folder: Path) -> ConfigError:
    """The error, before anything was begun."""
    events: list[str] = []
    with pytest.raises(ConfigError) as caught:
        way(recipe, folder, lambda event, _: events.append(event))
    assert events == []
    assert not folder.exists()
    return caught.value


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_a_device_that_is_not_there(way: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    recipe = load_recipe(None, little_settings(tmp_path / "data", *QUICK, "training.device=gpu"))
    assert 'device = "cuda", but torch sees no GPU' in refusal(recipe, way, tmp_path / "run").message


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_data_that_can_be_read_only_once(way: Callable, split: str, tmp_path: Path) -> None:
    changed = f"data.{split}=['/dev/null']"
    recipe = load_recipe(None, little_settings(tmp_path / "data", *QUICK, changed))
    error = refusal(recipe, way, tmp_path / "run")
    assert error.message.startswith("/dev/null can be read only once, but a run reads its data again")
    assert "Write it into a file first" in str(error.hint)
