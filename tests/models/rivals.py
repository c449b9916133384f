"""Small models of the kinds beside the Transformer, in every variant."""

import pytest
import torch
from tests.models.tiny import VOCABULARY

from heedful.models.config import ModelConfig
from heedful.models.convs2s_config import ConvS2SConfig
from heedful.models.interface import Seq2Seq
from heedful.models.kinds import build_model
from heedful.models.rnn_config import RNNConfig

_SMALL: dict[str, object] = {"d_model": 12, "d_hidden": 10, "dropout": 0.0}

RIVALS: dict[str, ModelConfig] = {
    name: RNNConfig.model_validate({**_SMALL, **settings})
    for name, settings in {
        "none": {"attention": "none", "n_encoder_layers": 2, "n_decoder_layers": 2},
        "none, no feedback": {"attention": "none", "feedback": False, "cell": "lstm", "tie": "none"},
        "bahdanau": {"attention": "bahdanau", "tie": "all"},
        "bahdanau, lstm": {"attention": "bahdanau", "cell": "lstm", "n_decoder_layers": 2, "bidirectional": False},
        "luong, dot": {"attention": "luong", "score": "dot", "tie": "none"},
        "luong, general, lstm": {"attention": "luong", "cell": "lstm", "n_encoder_layers": 2, "n_decoder_layers": 2},
        "luong, local-m": {"attention": "luong", "window": "local-m", "window_radius": 2},
        "luong, local-p": {"attention": "luong", "window": "local-p", "window_radius": 4, "input_feeding": True},
        "luong, location": {"attention": "luong", "score": "location", "max_positions": 90},
        "luong, concat, fed": {"attention": "luong", "score": "concat", "input_feeding": True},
    }.items()
}
RIVALS["convs2s"] = ConvS2SConfig.model_validate({**_SMALL, "n_encoder_layers": 2, "n_decoder_layers": 3, "tie": "all"})
RIVALS["convs2s, top"] = ConvS2SConfig.model_validate({**_SMALL, "n_decoder_layers": 3, "attention_layers": "top"})
RIVALS["convs2s, wide"] = ConvS2SConfig.model_validate({**_SMALL, "kernel": 5, "n_decoder_layers": 2, "tie": "none"})

EVERY_RIVAL = pytest.mark.parametrize("name", RIVALS)


def rival(name: str, seed: int = 0) -> Seq2Seq:
    """A model in double precision and eval mode; biases are moved from their start, where some do nothing."""
    torch.manual_seed(seed)
    model = build_model(RIVALS[name], VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.double().eval()
