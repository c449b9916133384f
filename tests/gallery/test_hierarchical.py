"""Hierarchical attention [Yang 2016] against its equations, and its laws about sentences."""

import pytest
import torch
from tests.gallery.composed import batch, composed
from torch import Tensor

from heedful.attention import Map, Mask, Pooling
from heedful.gallery.hierarchical.config import HierarchicalConfig
from heedful.gallery.hierarchical.model import FirstSentenceQuery, Hierarchical, SentenceWise
from heedful.models.recording import recorded_maps
from heedful.text.vocabulary import EOS

DOCUMENT = [5, 6, 4, EOS, 7, EOS, 9, 10]


def logits(source: list[int], name: str = "hierarchical") -> Tensor:
    some = batch([source])
    return composed(name).predict(some.src, some.src_mask).logits


def recorded(source: list[int], name: str = "hierarchical") -> list[Map]:
    some, model = batch([source]), composed(name)
    with recorded_maps(model) as maps:
        model.predict(some.src, some.src_mask)
    return maps


def pooled(pooling: Pooling, h: Tensor) -> Tensor:
    """u_t = tanh(W h_t + b), alpha = softmax(u_t . u), sum alpha_t h_t."""
    u = torch.tanh(h @ pooling.inner.weight.T + pooling.inner.bias)
    return (u @ pooling.queries[0]).softmax(0) @ h


def test_equals_the_equations_sentence_by_sentence() -> None:
    model = composed("hierarchical")
    assert isinstance(model, Hierarchical)
    reading = model.reading
    assert isinstance(reading, SentenceWise)
    vectors = []
    for sentence in ([5, 6, 4], [7], [9, 10]):
        h = reading.words.layers[0](model.embed(torch.tensor([sentence])))[0][0]
        vectors.append(pooled(reading.word_attention, h))
    sentences = reading.sentences.layers[0](torch.stack(vectors)[None])[0][0]
    expected = model.output(pooled(reading.sentence_attention, sentences))
    torch.testing.assert_close(logits(DOCUMENT)[0, 0], expected)


def test_the_first_sentence_may_ask() -> None:
    """The query is a map of its state, and no parameter of its own: another first sentence, other weights."""
    model = composed("first asks")
    assert isinstance(model, Hierarchical)
    assert isinstance(model.reading, SentenceWise)
    asking = model.reading.sentence_attention
    assert isinstance(asking, FirstSentenceQuery)
    h = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    real = torch.tensor([[True, True, True, False]])
    u = torch.tanh(h[0, :3] @ asking.inner.weight.T + asking.inner.bias)
    weights = (u @ (asking.query.weight @ h[0, 0] + asking.query.bias)).softmax(0)
    found = asking(h, Mask.key_padding(real))
    torch.testing.assert_close(found.weights[0, 0], torch.cat([weights, torch.zeros(1).double()]))
    torch.testing.assert_close(found.vectors[0, 0], weights @ h[0, :3])


def test_a_query_is_of_sentences() -> None:
    with pytest.raises(ValueError, match='`query` is of `reading` = "hierarchical", but that is "flat-mean"'):
        HierarchicalConfig(reading="flat-mean", query="first")
    with pytest.raises(ValueError, match='`d_attention` is of `reading` = "hierarchical" or "flat-attention"'):
        HierarchicalConfig(reading="flat-mean", d_attention=7)


def test_weights_sum_to_one_in_each_sentence_and_over_sentences() -> None:
    words, sentences = recorded([5, 6, EOS, EOS, 7, 4, 9])
    torch.testing.assert_close(words.weights[0, 0, :2].sum(), torch.tensor(1.0))
    torch.testing.assert_close(words.weights[0, 0, 4:7].sum(), torch.tensor(1.0))
    assert words.mask[0, 0].tolist() == [True, True, False, False, True, True, True, False]
    torch.testing.assert_close(sentences.weights.sum(), torch.tensor(1.0))
    assert sentences.mask[0, 0].nonzero().flatten().tolist() == [2, 7]  # the EOS of both, none of the empty one
    (flat,) = recorded([5, 6, EOS, EOS, 7, 4, 9], "flat-attention")
    torch.testing.assert_close(flat.weights.sum(), torch.tensor(1.0))
    assert torch.equal(flat.mask, words.mask)


@pytest.mark.parametrize("source", [[EOS, *DOCUMENT], [*DOCUMENT, EOS], [5, 6, 4, EOS, EOS, EOS, 7, EOS, 9, 10]])
def test_an_empty_sentence_changes_nothing(source: list[int]) -> None:
    torch.testing.assert_close(logits(source), logits(DOCUMENT))


def test_a_document_without_words_is_its_bias() -> None:
    for name in ("hierarchical", "flat-attention", "flat-mean"):
        model = composed(name)
        assert isinstance(model, Hierarchical)
        assert torch.equal(logits([], name)[0, 0], model.output.bias)


def test_the_same_word_weighs_differently_in_another_sentence() -> None:
    words, _ = recorded([5, 6, EOS, 5, 7])
    assert abs(words.weights[0, 0, 0] - words.weights[0, 0, 3]) > 1e-3


def test_sentence_borders_matter_only_to_who_sees_them() -> None:
    """The same words otherwise cut are another document."""
    moved = [5, 6, EOS, 4, 7, EOS, 9, 10]
    assert not torch.allclose(logits(moved), logits(DOCUMENT))


def test_an_odd_width_cannot_be_halved() -> None:
    with pytest.raises(ValueError, match="`d_hidden` must be even, half for each direction, but is 7"):
        HierarchicalConfig(reading="hierarchical", d_hidden=7)
