"""Small Transformers of every variant, and sentences of ids for them."""

from collections.abc import Mapping, Sequence

import pytest
import torch

from heedful.data.batch import Batch, collate
from heedful.models.transformer import Transformer
from heedful.models.transformer_config import TransformerConfig

VOCABULARY = 11
FIRST = 4  # the ids before are PAD, UNK, BOS and EOS

BASE: dict[str, object] = {
    "d_model": 12,
    "n_heads": 2,
    "d_ff": 20,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "norm": "post",
    "activation": "relu",
    "dropout": 0.0,
}

VARIANTS: dict[str, dict[str, object]] = {
    "post": {},
    "pre": {"norm": "pre", "activation": "gelu"},
    "learned": {"positions": "learned", "max_positions": 80, "tie": "decoder", "activation": "swish"},
    "t2t": {
        "norm": "pre",
        "positions": "t2t",
        "attention_bias": True,
        "tie": "none",
        "scale_embedding": False,
        "output_bias": True,
    },
    "widths": {"n_heads": 3, "d_k": 2, "d_v": 5, "d_model": 13},
    "relative": {"positions": "relative", "clip_distance": 2, "norm": "pre"},
    "relative values": {"positions": "relative", "clip_distance": 3, "relative_values": True, "d_v": 5},
    "t5": {"positions": "t5", "n_buckets": 6, "max_distance": 5},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi", "n_heads": 4},
    "none": {"positions": "none"},
}
EVERY_VARIANT = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def tiny_config(changes: Mapping[str, object] | None = None) -> TransformerConfig:
    """The base configuration with some keys changed."""
    return TransformerConfig.model_validate({**BASE, **(changes or {})})


def tiny_model(changes: Mapping[str, object] | None = None, seed: int = 0) -> Transformer:
    """A model in double precision and eval mode; norms and biases are moved from their start, where they do nothing."""
    torch.manual_seed(seed)
    model = Transformer(tiny_config(changes), VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.double().eval()


Ids = Sequence[int]

PAIRS: list[tuple[list[int], list[int]]] = [
    ([5, 6, 7, 4, 9, 10], [8, 8, 4]),
    ([4], [10, 9, 8, 7, 6]),
    ([9, 9, 5], []),
    ([], [6, 5]),
]


def batch_of(pairs: Sequence[tuple[Ids, Ids]]) -> Batch:
    """The pairs as one batch."""
    return collate([(list(source), list(target)) for source, target in pairs], list(range(len(pairs))))
