"""Small classifiers: each encoder and each pooling at least once, and sources for them."""

from collections.abc import Mapping

import pytest
import torch
from tests.models.tiny import VOCABULARY

from heedful.gallery.pooling.config import PoolingConfig
from heedful.gallery.pooling.model import build_pooling_classifier
from heedful.models.classifier import Classifier
from heedful.text.vocabulary import EOS

SMALL: dict[str, object] = {"d_model": 8, "dropout": 0.0}
SIZES: dict[str, dict[str, object]] = {  # of the parts of these names
    "rnn": {"d_hidden": 6},
    "transformer": {"n_heads": 2},
    "attention": {"d_attention": 5},
    "hard": {"d_attention": 5},
    "structured": {"d_attention": 5, "rows": 3},
    "keywords": {"d_attention": 5, "n_words": 2},
    "first-n": {"n_words": 2},
    "random-n": {"n_words": 2},
}
VARIANTS: dict[str, dict[str, object]] = {
    "words alone, mean": {"encoder": "none", "pooling": "mean"},
    "rnn, last": {"encoder": "rnn", "pooling": "last", "cell": "gru"},
    "rnn, layers, max": {"encoder": "rnn", "pooling": "max", "n_layers": 2, "layer_mix": True},
    "rnn, structured": {"encoder": "rnn", "pooling": "structured", "overlap_weight": 0.5},
    "transformer, last": {"encoder": "transformer", "pooling": "last"},
    "transformer, layers, attention": {
        "encoder": "transformer",
        "pooling": "attention",
        "n_layers": 2,
        "layer_mix": True,
    },
    "disan": {"encoder": "disan", "pooling": "source2token"},
    "disan-scalar": {"encoder": "disan-scalar", "pooling": "attention"},
    "keywords": {"encoder": "none", "pooling": "keywords"},
    "first-n": {"encoder": "none", "pooling": "first-n"},
    "random-n": {"encoder": "rnn", "pooling": "random-n"},
    "rnn, hard": {"encoder": "rnn", "pooling": "hard", "query": "first", "reads": "embedded"},
    "hard, expected": {"encoder": "none", "pooling": "hard", "test_policy": "expected", "entropy_weight": 0.0},
    "soft": {"encoder": "rnn", "pooling": "attention", "query": "first", "reads": "embedded"},
}
EVERY_VARIANT = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())

SOURCES = [[5, EOS, 6, 7, 4, 9, 10], [4], [9, 9, 5], [], [8, 7, 6, 5]]


def classifier_config(changes: Mapping[str, object]) -> PoolingConfig:
    """A small configuration with these settings."""
    sizes = [SIZES.get(str(changes[part]), {}) for part in ("encoder", "pooling")]
    return PoolingConfig.model_validate({**SMALL, **sizes[0], **sizes[1], **changes})


def classifier(changes: Mapping[str, object], seed: int = 0) -> Classifier:
    """A model in double precision and eval mode; biases are moved from their start, where some do nothing."""
    torch.manual_seed(seed)
    model = build_pooling_classifier(classifier_config(changes), VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.double().eval()
