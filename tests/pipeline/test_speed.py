"""Measuring the machine: the quicker precision wins, and as many updates as fit into the time."""

import pytest
from tests.pipeline.little import MODEL, TRAINING

from heedful.pipeline import speed as calibration
from heedful.pipeline.speed import benchmark_precisions
from heedful.recipe.recipe import Recipe, load_recipe


@pytest.fixture
def recipe() -> Recipe:
    return load_recipe(None, ["data.catalogue=reverse", *MODEL, *TRAINING])


@pytest.mark.parametrize(("float32", "bfloat16", "wanted"), [(0.1, 0.2, "float32"), (0.4, 0.1, "bfloat16")])
def test_arithmetic(
    float32: float, bfloat16: float, wanted: str, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.1 s an update: 600 in a minute, of which eight tenths are promised."""
    seconds = {"float32": float32, "bfloat16": bfloat16}
    monkeypatch.setattr(calibration, "_seconds", lambda _recipe, _batch, precision, *_sizes: seconds[precision])
    assert benchmark_precisions(recipe, 30, 30, (8, 7), minutes=1) == (wanted, 0.1, 480)
    assert benchmark_precisions(recipe, 30, 30, (8, 7), minutes=0.01).max_updates == 100


def test_measures_real_updates(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are as full as the recipe's; the model is not the caller's, so nothing is left behind."""
    shapes = []
    compute = calibration.compute_loss

    def noting(model: object, batch: object, config: object) -> object:
        shapes.append((tuple(batch.src.shape), tuple(batch.tgt_in.shape), config.precision))  # type: ignore[attr-defined]
        return compute(model, batch, config)  # type: ignore[arg-type]

    monkeypatch.setattr(calibration, "compute_loss", noting)
    found = benchmark_precisions(recipe, 30, 30, (8, 7), minutes=1)
    assert set(shapes) == {((14, 9), (14, 8), "float32"), ((14, 9), (14, 8), "bfloat16")}  # 14 * 9 <= 128
    assert found.seconds_an_update > 0
