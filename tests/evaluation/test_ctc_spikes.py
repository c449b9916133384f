"""Spikes of CTC, of paths that are written down."""

from collections.abc import Sequence
from typing import final

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.decoding.config import BeamSearch
from heedful.decoding.translator import Translator
from heedful.evaluation.ctc_spikes import blank_spikes
from heedful.models.interface import EncoderOnly, Prediction
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizer


@final
class Said(EncoderOnly):
    """Says a path that is given, whatever it reads."""

    task = "ctc"

    def __init__(self, path: Sequence[int], task: str) -> None:
        super().__init__()
        self.path, self.task = path, task  # pyright: ignore[reportAttributeAccessIssue]
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def predict(self, src: Tensor, src_mask: Tensor) -> Prediction:
        logits = torch.nn.functional.one_hot(torch.tensor([self.path] * len(src)), 7).float()
        return Prediction(logits, torch.ones(logits.shape[:2], dtype=torch.bool))

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.full_like(n_source, len(self.path))


def saying(path: Sequence[int], task: str = "ctc") -> Translator:
    words = train_tokenizer(SideConfig(kind="words"), ["a b c"], 1)
    return translator_of(Said(path, task), Tokenizers(words, words), BeamSearch())


def test_spikes_by_hand() -> None:
    """Six of ten places are blank; three symbols last 1, 2 and 1 places, of which two are neighbours."""
    found = blank_spikes(saying([0, 0, 4, 0, 5, 5, 6, 0, 0, 0]), ["a", "b c"])
    assert found == pytest.approx({"blank": 60.0, "places a symbol": 4 / 3})


def test_nothing_is_said() -> None:
    assert blank_spikes(saying([0, 0]), ["a"]) == {"blank": 100.0, "places a symbol": 0.0}


@pytest.mark.parametrize(("sources", "task"), [([], "ctc"), (["a"], "labels")])
def test_nothing_to_look_at(sources: list[str], task: str) -> None:
    with pytest.raises(ValueError, match="`sources` must hold some, for a model that aligns"):
        blank_spikes(saying([0, 4], task), sources)
