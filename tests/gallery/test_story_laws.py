"""The laws that every model of stories keeps: padding, batches, maps, gradients, preparation for search."""

import pytest
import torch
from tests.gallery.stories import CONFIGS, STORIES, logits, stories, story_model

from heedful.gallery.reading.config import ReaderConfig
from heedful.models.config import ModelConfig
from heedful.models.inference import for_inference
from heedful.models.interface import EncoderOnly
from heedful.models.recording import recorded_maps
from heedful.tasks.table import compute_loss
from heedful.text.vocabulary import EOS, PAD
from heedful.training.config import TrainingConfig

EVERY_CONFIG = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())


@EVERY_CONFIG
class TestPadding:
    @pytest.mark.parametrize("extra", [1, 7, 50])
    def test_changes_nothing(self, config: ModelConfig, extra: int) -> None:
        model = story_model(config)
        torch.testing.assert_close(logits(model, stories(STORIES, extra)), logits(model, stories(STORIES)))

    def test_its_tokens_change_not_one_bit(self, config: ModelConfig) -> None:
        model = story_model(config)
        assert torch.equal(logits(model, stories(STORIES, 2)), logits(model, stories(STORIES, 2, filler=EOS)))

    def test_a_batch_is_its_stories_one_by_one(self, config: ModelConfig) -> None:
        model = story_model(config)
        together = logits(model, stories(STORIES))
        for row, story in enumerate(STORIES):
            torch.testing.assert_close(together[row], logits(model, stories([story]))[0])

    def test_has_no_gradient(self, config: ModelConfig) -> None:
        """The row of PAD is never moved, and what the model has is."""
        model = story_model(config).train()
        compute_loss(model, stories(STORIES[:4], 3), TrainingConfig(label_smoothing=0.0)).smoothed.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name
            if name.startswith("embed"):
                assert not parameter.grad[PAD].any(), name


@EVERY_CONFIG
def test_maps_are_of_the_first_story(config: ModelConfig) -> None:
    model, batch = story_model(config), stories(STORIES)
    with recorded_maps(model) as maps:
        with_maps = model.predict(batch.src, batch.src_mask).logits[:, 0]
    torch.testing.assert_close(with_maps, logits(model, batch))
    readings = 1 if isinstance(config, ReaderConfig) else config.n_hops
    assert [found.name for found in maps] == [f"reader.{number}.read" for number in range(readings)]
    ends = [place for place, token in enumerate(STORIES[0]) if token == EOS]
    told = set(range(ends[-1]))
    kept = ends[-config.max_memories :] if not isinstance(config, ReaderConfig) else sorted(told - set(ends))
    for found in maps:
        assert found.weights.shape == (1, 1, batch.src.shape[1])
        assert found.mask[0, 0].nonzero().flatten().tolist() == kept
        torch.testing.assert_close(found.weights.sum(), torch.ones(()))
        assert not found.weights[~found.mask].any()


@EVERY_CONFIG
@pytest.mark.parametrize("story", [[10, 9], []], ids=["a question alone", "nothing"])
def test_nothing_is_told(config: ModelConfig, story: list[int]) -> None:
    """An answer all the same, and maps of nothing."""
    model, batch = story_model(config), stories([story])
    with recorded_maps(model) as maps:
        assert model.predict(batch.src, batch.src_mask).logits.isfinite().all()
    for found in maps:
        assert not found.weights.any()


@EVERY_CONFIG
def test_prepared_for_search_it_is_the_same_function(config: ModelConfig) -> None:
    model = story_model(config)
    ready = for_inference(model, "float32")
    assert isinstance(ready, EncoderOnly)
    torch.testing.assert_close(logits(ready, stories(STORIES)), logits(model, stories(STORIES)))


@EVERY_CONFIG
def test_maps_are_taken_in_eval_mode_only(config: ModelConfig) -> None:
    model = story_model(config).train()
    with pytest.raises(ValueError, match="Attention maps are taken in eval mode only"), recorded_maps(model):
        pass
