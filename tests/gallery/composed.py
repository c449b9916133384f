"""Small encoder-only models that predict from attention over words, sentences or pairs, and sources for them."""

import pytest
import torch
from tests.models.tiny import VOCABULARY, batch_of

from heedful.data.batch import Batch
from heedful.gallery.coupled.config import CoupledConfig
from heedful.gallery.esim.config import InferenceConfig
from heedful.gallery.hierarchical.config import HierarchicalConfig
from heedful.models.config import ModelConfig
from heedful.models.interface import EncoderOnly
from heedful.recipe.tables import build_model
from heedful.text.vocabulary import EOS

LABELS = 9
_SMALL: dict[str, object] = {"d_model": 6, "d_hidden": 8, "dropout": 0.0}

COMPOSED: dict[str, ModelConfig] = {
    "hierarchical": HierarchicalConfig.model_validate({**_SMALL, "reading": "hierarchical", "d_attention": 5}),
    "first asks": HierarchicalConfig.model_validate({**_SMALL, "reading": "hierarchical", "query": "first"}),
    "flat-attention": HierarchicalConfig.model_validate({**_SMALL, "reading": "flat-attention", "d_attention": 5}),
    "flat-mean": HierarchicalConfig.model_validate({**_SMALL, "reading": "flat-mean"}),
    "aligned": InferenceConfig.model_validate(_SMALL),
    "not aligned": InferenceConfig.model_validate({**_SMALL, "align_both_ways": False}),
    "coupled": CoupledConfig.model_validate({**_SMALL, "n_forms": 3, "penalty": 0.5, "label_heads": "one"}),
    "uncoupled": CoupledConfig.model_validate({**_SMALL, "n_forms": 3, "n_layers": 3, "coupled": False}),
    "coupled, window": CoupledConfig.model_validate({**_SMALL, "n_forms": 3, "context": "window"}),
}

SOURCES: dict[str, list[list[int]]] = {
    "hierarchical": [[5, 6, EOS, 7, 4, 9], [8], [], [4, EOS, EOS, 9, 9, EOS, EOS], [EOS, EOS]],
    "inference": [[5, 6, EOS, 7, 4, 9], [8, EOS, 8], [EOS, 4, 5], [10, 4, 4, 7, EOS], [EOS]],
    "coupled": [[5, 6, 7, 4, 9, 10], [8], [], [4, 4, 9]],
}
"""Ids without the last EOS; among them single words, empty parts and, where it may be, nothing at all."""

EVERY_COMPOSED = pytest.mark.parametrize("name", COMPOSED)


def composed(name: str, seed: int = 0) -> EncoderOnly:
    """A model in double precision and eval mode; biases are moved from their start, where some do nothing."""
    torch.manual_seed(seed)
    model = build_model(COMPOSED[name], VOCABULARY, LABELS)
    assert isinstance(model, EncoderOnly)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.double().eval()


def sources_of(name: str) -> list[list[int]]:
    """The sources that a model of this name reads."""
    return SOURCES[COMPOSED[name].kind]


def batch(sources: list[list[int]]) -> Batch:
    """The sources side by side, without targets."""
    return batch_of([(source, []) for source in sources])
