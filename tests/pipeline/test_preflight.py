"""Looking before training: the largest batch, a loss like that of guessing, room on the disk, positions for all."""

import math
import shutil
from pathlib import Path

import pytest
from tests.pipeline.little import little_settings

from heedful.errors import ConfigError, HeedfulError
from heedful.models.weights import count_parameters
from heedful.pipeline.preflight import Preflight, preflight
from heedful.pipeline.prepare import prepare
from heedful.pipeline.train import new_model, plan_of, silent
from heedful.recipe.recipe import Recipe, load_recipe
from heedful.tasks.task import EncodedCorpus
from heedful.training.config import Linear


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, EncodedCorpus, Path]:
    folder = tmp_path_factory.mktemp("ready")
    recipe = load_recipe(None, little_settings(folder / "files"))
    return recipe, prepare(recipe, folder / "data", silent), folder


def look(ready: tuple[Recipe, EncodedCorpus, Path], **model: object) -> Preflight:
    recipe, prepared, folder = ready
    recipe = recipe.model_copy(update={"model": recipe.model.model_copy(update=model)})
    return preflight(recipe, prepared, new_model(recipe, prepared), plan_of(recipe, prepared), folder / "run")


def test_what_is_found(ready: tuple[Recipe, EncodedCorpus, Path]) -> None:
    recipe, prepared, _ = ready
    found = look(ready)
    assert found.parameters == count_parameters(new_model(recipe, prepared))
    plan = plan_of(recipe, prepared)
    sizes = [len(batch) * (1 + int(prepared.train.source_lengths[batch].max())) for batch in plan.epoch(0)]
    assert math.prod(found.shapes["src"]) == max(sizes)
    assert found.batches_per_epoch == len(sizes)
    assert found.loss == pytest.approx(math.log(30), abs=1.5)
    assert found.memory_bytes > 16 * found.parameters
    # Three kept, best, last, one being written, the bundle; two moments each of the last and the one being written.
    assert found.disk_bytes == 4 * found.parameters * (3 + 3 + 1 + 2 * 2)


def test_scheduled_sampling_is_shown_beforehand(ready: tuple[Recipe, EncodedCorpus, Path]) -> None:
    """Of the little recipe's 60 updates: the first, and each quarter of the way. [spec P42]"""
    recipe, prepared, folder = ready
    assert look(ready).p_gold == []
    training = recipe.training.model_copy(update={"scheduled_sampling": Linear(c=0.01)})
    sampling = recipe.model_copy(update={"training": training})
    found = preflight(sampling, prepared, new_model(sampling, prepared), plan_of(sampling, prepared), folder / "run")
    assert found.p_gold == [(step, pytest.approx(1 - step / 100)) for step in (1, 15, 30, 45, 60)]


def test_too_little_room(ready: tuple[Recipe, EncodedCorpus, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints that are there already need no more room."""
    folder = ready[2]
    needed = look(ready).disk_bytes
    usage = shutil.disk_usage(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=needed - 100))
    with pytest.raises(ConfigError, match="MB are free, but checkpoints need") as caught:
        look(ready)
    assert "training.keep_last" in str(caught.value.hint)
    there = folder / "run" / "checkpoints" / "update-00000010" / "model.safetensors"
    there.parent.mkdir(parents=True)
    there.write_bytes(bytes(100))
    assert look(ready).disk_free == needed - 100
    shutil.rmtree(folder / "run")


def test_a_shortlist_is_made_of_a_finished_run(ready: tuple[Recipe, EncodedCorpus, Path]) -> None:
    recipe, prepared, folder = ready
    asked = recipe.model_copy(update={"search": recipe.search.model_copy(update={"shortlist": True})})
    with pytest.raises(ConfigError, match=r"`search\.shortlist` needs a shortlist, which is made of a finished run"):
        preflight(asked, prepared, new_model(asked, prepared), plan_of(asked, prepared), folder)


def test_learned_positions(ready: tuple[Recipe, EncodedCorpus, Path]) -> None:
    """The longest pair has 16 symbols and its end; it counts, in whichever batch it is."""
    assert look(ready, positions="learned", max_positions=17).parameters
    with pytest.raises(ConfigError, match="The longest training pair has 17 tokens") as caught:
        look(ready, positions="learned", max_positions=16)
    assert caught.value.hint == "Set model.max_positions to at least 17, or lower data.max_length."


def test_learned_positions_of_dev(ready: tuple[Recipe, EncodedCorpus, Path], tmp_path: Path) -> None:
    """Dev pairs of any length are kept, where training pairs are left out."""
    recipe = load_recipe(None, little_settings(tmp_path / "files", "data.max_length=9"))
    shorter = prepare(recipe, tmp_path / "data", silent)
    with pytest.raises(ConfigError, match="The longest dev pair has 17 tokens") as caught:
        look((recipe, shorter, tmp_path), positions="learned", max_positions=10)
    assert caught.value.hint == "Set model.max_positions to at least 17, or remove the pair."


def test_loss_that_is_no_number(ready: tuple[Recipe, EncodedCorpus, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.pipeline.preflight.compute_loss", lambda *_: _NAN)
    with pytest.raises(HeedfulError, match="The loss before training is nan") as caught:
        look(ready)
    assert "float32" in str(caught.value.hint)


class _Loss:
    nll, count = math.nan, 1


_NAN = _Loss()
