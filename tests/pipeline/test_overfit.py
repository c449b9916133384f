"""Driving a few pairs to zero loss, and what is said where that fails."""

from pathlib import Path

import pytest
from tests.pipeline.little import little_settings

from heedful.errors import CheckFailed
from heedful.models.transformer import Transformer
from heedful.pipeline.overfit import ZERO, overfit
from heedful.pipeline.train import silent
from heedful.recipe.recipe import Recipe, load_recipe
from heedful.training.config import Linear


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    """Dropout, smoothing and accumulation are on, and are left out by overfitting itself."""
    wider = ("model.d_model=64", "model.d_ff=128", "training.label_smoothing=0.1")
    return load_recipe(None, little_settings(tmp_path / "data", *wider))


@pytest.mark.slow
def test_three_pairs_are_learned_by_heart(recipe: Recipe) -> None:
    found = overfit(recipe, 3, silent)
    assert found.loss < ZERO
    assert found.pairs == 3
    assert "embed_target.weight" in found.moved
    assert found.still == []


def test_frozen_part_is_named(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose encoder is cut off from the loss: its parameters are counted as those that never moved."""
    encode = Transformer.encode

    def without_gradient(*arguments: object) -> object:
        memory = encode(*arguments)  # type: ignore[arg-type]
        return memory._replace(values=memory.values.detach())

    monkeypatch.setattr(Transformer, "encode", without_gradient)
    monkeypatch.setattr("heedful.pipeline.overfit.UPDATES", 2)
    with pytest.raises(
        CheckFailed, match=r"3 pairs still have a loss of .* after 2 updates; 1\d parameters never moved"
    ):
        overfit(recipe, 3, silent)


def test_more_pairs_than_there_are(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.pipeline.overfit.UPDATES", 1)
    with pytest.raises(CheckFailed, match="200 pairs"):
        overfit(recipe, 999, silent)


def test_scheduled_sampling_is_left_out(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noise, too: what is read would not be what is to be learned."""
    monkeypatch.setattr("heedful.pipeline.overfit.UPDATES", 1)
    training = recipe.training.model_copy(update={"scheduled_sampling": Linear(k=0.0, c=0.0)})
    losses = []
    for asked in (recipe, recipe.model_copy(update={"training": training})):
        with pytest.raises(CheckFailed) as caught:
            overfit(asked, 3, silent)
        losses.append(caught.value.message)
    assert losses[0] == losses[1]
