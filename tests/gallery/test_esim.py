"""ESIM [Chen 2017] against its equations, and the law of exchanged sides."""

import pytest
import torch
from tests.gallery.composed import batch, composed
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.gallery.esim.config import InferenceConfig
from heedful.gallery.esim.model import ESIM
from heedful.models.recording import recorded_maps
from heedful.text.vocabulary import EOS

PREMISE, HYPOTHESIS = [5, 6, 4, 9], [7, 5]
EITHER = pytest.mark.parametrize("name", ["aligned", "not aligned"])


def esim(name: str = "aligned") -> ESIM:
    model = composed(name)
    assert isinstance(model, ESIM)
    return model


def vectors(model: ESIM, premise: list[int], hypothesis: list[int]) -> Tensor:
    some = batch([[*premise, EOS, *hypothesis]])
    return model.vectors(some.src, some.src_mask)[0]


def states(cells: nn.Module, x: Tensor) -> Tensor:
    return cells(x[None])[0][0]


def test_equals_the_equations_word_by_word() -> None:
    model = esim()
    a, b = (states(model.read.layers[0], model.embed(torch.tensor(ids))) for ids in (PREMISE, HYPOTHESIS))
    e = a @ b.T
    expected = []
    for side, other, scores in ((a, b, e), (b, a, e.T)):
        aligned = scores.softmax(1) @ other
        enhanced = torch.cat([side, aligned, side - aligned, side * aligned], dim=1)
        composed_words = states(model.compose.layers[0], torch.relu(model.project(enhanced)))
        expected.append(torch.cat([composed_words.mean(0), composed_words.max(0).values]))
    torch.testing.assert_close(vectors(model, PREMISE, HYPOTHESIS), torch.stack(expected))


@EITHER
def test_exchanging_the_sides_exchanges_their_vectors(name: str) -> None:
    model = esim(name)
    there, back = vectors(model, PREMISE, HYPOTHESIS), vectors(model, HYPOTHESIS, PREMISE)
    torch.testing.assert_close(there, back.flip(0))


def test_without_alignment_a_side_does_not_know_the_other() -> None:
    one, other = (vectors(esim("not aligned"), PREMISE, hypothesis)[0] for hypothesis in ([7, 5], [10]))
    torch.testing.assert_close(one, other)
    one, other = (vectors(esim("aligned"), PREMISE, hypothesis)[0] for hypothesis in ([7, 5], [10]))
    assert not torch.allclose(one, other)


def test_each_side_reads_the_other_one_only() -> None:
    some, model = batch([[*PREMISE, EOS, *HYPOTHESIS]]), esim()
    with recorded_maps(model) as maps:
        model.predict(some.src, some.src_mask)
    (found,) = maps
    sides = torch.tensor([0, 0, 0, 0, -1, 1, 1, -1])
    across = (sides[:, None] >= 0) & (sides[None] >= 0) & (sides[:, None] != sides[None])
    assert torch.equal(found.mask[0], across)
    torch.testing.assert_close(found.weights[0].sum(-1), across.any(-1).float())


def test_a_side_without_words_is_zero() -> None:
    model = esim()
    assert not vectors(model, PREMISE, [])[1].any()
    assert vectors(model, PREMISE, [])[0].any()


@EITHER
@pytest.mark.parametrize(("source", "count"), [([5, 6], 1), ([5, EOS, 6, EOS, 7], 3)])
def test_other_than_two_parts(name: str, source: list[int], count: int) -> None:
    some = batch([[5, EOS, 6], source])
    with pytest.raises(HeedfulError, match=f"compares two parts, but source 2 of 2 in this batch has {count}") as found:
        esim(name).predict(some.src, some.src_mask)
    assert (
        found.value.hint == 'Write `premise ||| hypothesis` on each line, and set tokenizer.source.separator = "|||".'
    )


def test_an_odd_width_cannot_be_halved() -> None:
    with pytest.raises(ValueError, match="`d_hidden` must be even, half for each direction, but is 9"):
        InferenceConfig(d_hidden=9)
