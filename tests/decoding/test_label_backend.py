"""Encoder-only models as a backend: best labels against brute force, and what cannot be asked of them."""

import itertools
import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.decoding.config import BeamSearch, with_changes
from heedful.decoding.label_backend import LabelBackend, best_label_sequences, label_log_p
from heedful.decoding.search import Request
from heedful.errors import ConfigError, HeedfulError
from heedful.models.interface import EncoderOnly, Prediction
from heedful.text.vocabulary import BOS, EOS, PAD, UNK

V = 7


class Echo(EncoderOnly):
    """Sure that the label of a word is the word."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def predict(self, src: Tensor, src_mask: Tensor) -> Prediction:
        words = src[:, :-1] % V
        return Prediction(5 * self.weight * torch.nn.functional.one_hot(words, V).float(), src_mask[:, 1:])

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return n_source


def test_the_best_few_are_those_of_brute_force() -> None:
    generator = torch.Generator().manual_seed(3)
    log_p = torch.randn(3, 4, generator=generator).log_softmax(dim=-1)
    every = sorted(
        (sum(float(log_p[t, label]) for t, label in enumerate(labels)), labels)
        for labels in itertools.product(range(4), repeat=3)
    )[::-1]
    for n in (1, 2, 9, 64, 100):
        found = best_label_sequences(log_p, n)
        assert [tuple(one.ids) for one in found] == [labels for _, labels in every[:n]]
        for one, (total, _) in zip(found, every, strict=False):
            assert math.isclose(one.log_p, total, abs_tol=1e-5)
            assert math.isclose(sum(one.token_log_p), total, abs_tol=1e-5)


def test_special_ids_are_no_labels() -> None:
    answer = Prediction(torch.zeros(1, 2, V), torch.ones(1, 2, dtype=torch.bool))
    log_p = label_log_p(answer)
    assert all(torch.isinf(log_p[:, :, special]).all() for special in (PAD, UNK, BOS, EOS))
    assert {label for one in best_label_sequences(log_p[0], 100) for label in one.ids} == {4, 5, 6}


def test_predictions_do_not_depend_on_the_batch() -> None:
    find = LabelBackend(Echo(), BeamSearch()).hypotheses
    sources = [[4, 5, 6], [6], [5, 5]]
    together = find(sources, [Request(9)] * 3, 2)
    assert [one[0].ids for one in together] == sources
    assert together == [find([source], [Request(9)], 2)[0] for source in sources]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"temperature": 1.0}, "method"),
        ({"samples": 4}, "method"),
        ({"no_repeat_ngram": 3}, "no_repeat_ngram"),
        ({"shortlist": True}, "shortlist"),
        ({"length_penalty": 0.0}, "length_penalty"),
        ({"beam": 2}, "beam"),
    ],
)
def test_settings_of_a_decoder_are_refused(settings: dict, name: str) -> None:
    search = with_changes(BeamSearch(), settings)
    with pytest.raises(ConfigError, match=f"`search.{name}` needs a decoder, but this model is encoder-only"):
        LabelBackend(Echo(), search)
    with pytest.raises(ConfigError, match=f"`search.{name}` needs a decoder, but this model is encoder-only"):
        LabelBackend(Echo(), BeamSearch()).with_search(search)


@pytest.mark.parametrize("request_", [Request(9, prefix=[5]), Request(9, required=[[5]])])
def test_prefixes_and_constraints_are_refused(request_: Request) -> None:
    with pytest.raises(ConfigError, match="Prefixes and constraints need a decoder"):
        LabelBackend(Echo(), BeamSearch()).hypotheses([[4]], [request_], 1)


def test_given_labels_have_their_probability() -> None:
    rows = LabelBackend(Echo(), BeamSearch()).log_p([([4, 5], [4, 6]), ([6], [6])])
    right = 5 - math.log(math.exp(5) + V - 1)
    assert rows[0] == pytest.approx([right, right - 5, 0.0], abs=1e-5)
    assert rows[1] == pytest.approx([right, 0.0], abs=1e-5)


def test_given_labels_must_be_one_a_position() -> None:
    with pytest.raises(HeedfulError, match="Pair 8 has 1 label, but its source has 2 positions") as caught:
        LabelBackend(Echo(), BeamSearch()).check_pairs([([4, 5], [4, 5]), ([4, 5], [4])], first=7)
    assert caught.value.hint == "Give one label a position."


def test_an_unknown_label_has_no_probability() -> None:
    with pytest.raises(HeedfulError, match="Pair 1 has a label that this model does not know"):
        LabelBackend(Echo(), BeamSearch()).check_pairs([([4, 5], [4, UNK])])
