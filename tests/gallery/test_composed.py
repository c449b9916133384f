"""The laws of hierarchical attention, ESIM and CMLA: padding, batches, gradients, and what they record."""

import numpy as np
import pytest
import torch
from tests.gallery.composed import COMPOSED, EVERY_COMPOSED, LABELS, batch, composed, sources_of
from tests.models.test_padding import padded
from torch import Tensor

from heedful.attention import Map
from heedful.models.interface import Prediction
from heedful.models.recording import recorded_maps
from heedful.text.vocabulary import PAD


def answers(name: str, sources: list[list[int]], extra: int = 0, filler: int = PAD) -> Prediction:
    some = padded(batch(sources), extra, filler)
    return composed(name).predict(some.src, some.src_mask)


@EVERY_COMPOSED
class TestPadding:
    @pytest.mark.parametrize("extra", [1, 7, 50])
    def test_changes_nothing(self, name: str, extra: int) -> None:
        plain, wide = answers(name, sources_of(name)), answers(name, sources_of(name), extra)
        torch.testing.assert_close(wide.logits[wide.mask], plain.logits[plain.mask])
        torch.testing.assert_close(wide.penalty, plain.penalty)

    def test_its_tokens_change_not_one_bit(self, name: str) -> None:
        one, other = answers(name, sources_of(name), 2), answers(name, sources_of(name), 2, filler=9)
        assert torch.equal(one.logits[one.mask], other.logits[other.mask])

    @pytest.mark.parametrize("extra", [0, 1, 7, 50])
    def test_a_batch_is_its_sentences_one_by_one(self, name: str, extra: int) -> None:
        together = answers(name, sources_of(name))
        for row, source in enumerate(sources_of(name)):
            alone = answers(name, [source], extra)
            torch.testing.assert_close(alone.logits[alone.mask], together.logits[row][together.mask[row]])
            if alone.penalty is not None and together.penalty is not None:
                torch.testing.assert_close(alone.penalty[0], together.penalty[row])

    def test_has_no_gradient_and_all_else_has(self, name: str) -> None:
        model, some = composed(name), padded(batch(sources_of(name)), 3)
        answer = model(some.src, some.src_mask)
        loss = answer.logits[answer.mask].square().sum()
        (loss if answer.penalty is None else loss + answer.penalty.sum()).backward()
        gradients = {key: parameter.grad for key, parameter in model.named_parameters() if parameter.requires_grad}
        embedding = gradients["embed.weight"]
        assert embedding is not None
        assert not embedding[PAD].any()
        assert [key for key, gradient in gradients.items() if gradient is None or not gradient.any()] == []


@EVERY_COMPOSED
class TestAnswers:
    def test_places(self, name: str) -> None:
        """As many as the model says beforehand, over all labels, and finite wherever they are."""
        answer, sources = answers(name, sources_of(name)), sources_of(name)
        lengths = np.array([len(source) for source in sources])
        assert answer.mask.sum(dim=1).tolist() == composed(name).output_lengths(lengths).tolist()
        assert answer.logits.shape == (len(sources), answer.mask.shape[1], LABELS)
        assert torch.isfinite(answer.logits).all()
        assert (answer.penalty is not None) == bool(getattr(COMPOSED[name], "penalty", 0))

    def test_gradients_are_finite_where_parts_are_empty(self, name: str) -> None:
        model, some = composed(name), batch(sources_of(name))
        model(some.src, some.src_mask).logits.sum().backward()
        found = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        assert all(torch.isfinite(gradient).all() for gradient in found)

    def test_very_negative_scores_of_real_words_lose_to_no_padding(self, name: str) -> None:
        """Weights are those of the words alone, however far below 0 their scores are. [spec P8]"""
        model, some = composed(name), padded(batch(sources_of(name)), 5)
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if key.endswith(("queries", "score.weight", "embed.weight")):
                    parameter.mul_(1e4)
        for row in range(len(some.src)):
            with recorded_maps(model) as maps:
                model.predict(some.src[row : row + 1], some.src_mask[row : row + 1])
            for found in maps:
                assert torch.isfinite(found.weights).all()
                assert not found.weights[~found.mask.expand_as(found.weights)].any()


def recorded(name: str, source: list[int]) -> list[Map]:
    some, model = batch([source]), composed(name)
    with recorded_maps(model) as maps:
        model.predict(some.src, some.src_mask)
    return maps


SHAPES: dict[str, list[tuple[str, tuple[int, int, int]]]] = {
    "hierarchical": [("reader.0.read", (1, 1, 7)), ("reader.1.read", (1, 1, 7))],
    "first asks": [("reader.0.read", (1, 1, 7)), ("reader.1.read", (1, 1, 7))],
    "flat-attention": [("reader.0.read", (1, 1, 7))],
    "flat-mean": [],
    "aligned": [("encoder.0.self", (1, 7, 7))],
    "not aligned": [],
    "coupled": [("reader.0.read", (2, 6, 7)), ("reader.1.read", (2, 6, 7))],
    "uncoupled": [(f"reader.{n}.read", (2, 6, 7)) for n in range(3)],
    "coupled, window": [("reader.0.read", (2, 6, 7)), ("reader.1.read", (2, 6, 7))],
}


@EVERY_COMPOSED
class TestMaps:
    def test_names_and_shapes(self, name: str) -> None:
        maps = recorded(name, sources_of(name)[0])
        assert [(found.name, tuple(found.weights.shape)) for found in maps] == SHAPES[name]
        for found in maps:
            assert not found.weights[~found.mask.expand_as(found.weights)].any()

    def test_are_those_of_the_first_sentence_alone(self, name: str) -> None:
        model, some = composed(name), batch(sources_of(name)[::-1] + [sources_of(name)[0]] * 2)
        for row in range(len(some.src)):
            shifted = [some.src.roll(-row, 0), some.src_mask.roll(-row, 0)]
            with recorded_maps(model) as together:
                model.predict(shifted[0], shifted[1])
            n = int(shifted[1][0].sum())
            with recorded_maps(model) as alone:
                model.predict(shifted[0][:1, :n], shifted[1][:1, :n])
            for one, other in zip(alone, together, strict=True):
                rows, columns = one.weights.shape[1:]
                torch.testing.assert_close(other.weights[:, :rows, :columns], one.weights)

    def test_recording_changes_nothing_and_is_for_eval_mode(self, name: str) -> None:
        model, some = composed(name), batch(sources_of(name))
        with recorded_maps(model):
            with_maps: Tensor = model.predict(some.src, some.src_mask).logits
        assert torch.equal(with_maps, model.predict(some.src, some.src_mask).logits)
        with (
            pytest.raises(ValueError, match="Attention maps are taken in eval mode only"),
            recorded_maps(model.train()),
        ):
            pass
