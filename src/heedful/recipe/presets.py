"""Named starting points for a recipe: the paper's models, tensor2tensor's versions of them, small ones, and the rivals.

A preset states every value that its source states, so that a default which changes elsewhere does not change it.
Knows no data.
"""

import difflib
from types import MappingProxyType
from typing import Any, NamedTuple

from heedful.config import Layer, Tree, set_key
from heedful.errors import ConfigError


class Preset(NamedTuple):
    """Preset: its summary, and the dotted keys it sets."""

    description: str
    values: dict[str, Any]


_PAPER_BASE = {
    "tokenizer.joint": True,
    "tokenizer.source.kind": "sentencepiece",
    "tokenizer.source.algorithm": "bpe",
    "tokenizer.source.vocab_size": 37_000,
    "model.kind": "transformer",
    "model.d_model": 512,
    "model.n_heads": 8,
    "model.d_ff": 2048,
    "model.n_encoder_layers": 6,
    "model.n_decoder_layers": 6,
    "model.norm": "post",
    "model.activation": "relu",
    "model.attention_bias": False,
    "model.positions": "sinusoidal",
    "model.scale_embedding": True,
    "model.tie": "all",
    "model.dropout": 0.1,
    "model.attention_dropout": 0.0,
    "model.ffn_dropout": 0.0,
    "training.label_smoothing": 0.1,
    "training.smoothing_over": "all",
    "training.max_tokens": 25_000,
    "training.optimizer_betas": (0.9, 0.98),
    "training.optimizer_epsilon": 1e-9,
    "training.schedule": "noam",
    "training.learning_rate": 1.0,
    "training.warmup_steps": 4000,
    "training.max_updates": 100_000,
    "training.validate_every": 1500,  # ten minutes at the paper's 0.4 seconds an update
    "training.keep_last": 5,
    "training.average_last": 5,
    "search.beam": 4,
    "search.length_penalty": 0.6,
    "search.max_extra": 50,
}

_PAPER_BIG = {
    **_PAPER_BASE,
    "model.d_model": 1024,
    "model.n_heads": 16,
    "model.d_ff": 4096,
    "model.dropout": 0.3,
    "training.max_updates": 300_000,
    "training.validate_every": 600,  # ten minutes at the paper's 1.0 seconds an update
    "training.keep_last": 20,
    "training.average_last": 20,
}

# tensor2tensor stores learning_rate = 0.1 here, which its legacy schedule multiplies by 5000 * 0.002: Eq. 3 itself.
_T2T_BASE_V1 = {
    **_PAPER_BASE,
    "data.max_length": 256,
    "tokenizer.source.vocab_size": 32_768,
    "model.norm_epsilon": 1e-6,
    "model.positions": "t2t",
    "training.smoothing_over": "others",
    "training.max_tokens": 4096,
    "training.validate_every": 1000,
    "search.max_extra": 100,
}

_T2T_BASE_V2 = {
    **_T2T_BASE_V1,
    "model.norm": "pre",
    "model.attention_dropout": 0.1,
    "model.ffn_dropout": 0.1,
    "training.learning_rate": 2.0,  # stored there as 0.2
    "training.warmup_steps": 8000,
}

# constant 2.0 * linear_warmup * rsqrt_decay * rsqrt_hidden_size is v2's curve under another name.
_T2T_BASE_V3 = {**_T2T_BASE_V2, "training.optimizer_betas": (0.9, 0.997)}

# The published model [Wu 2021] is post-norm, with a peak of 0.005 after 2,000 of 8,000 updates of 8,192 tokens. What is
# changed here is in experiments/LOG.md, with the reasons.
_MULTI30K_TINY = {
    "tokenizer.joint": True,
    "tokenizer.source.kind": "sentencepiece",
    "tokenizer.source.algorithm": "bpe",
    "tokenizer.source.vocab_size": 6000,
    "model.kind": "transformer",
    "model.d_model": 128,
    "model.n_heads": 4,
    "model.d_ff": 256,
    "model.n_encoder_layers": 4,
    "model.n_decoder_layers": 4,
    "model.norm": "pre",
    "model.activation": "relu",
    "model.positions": "sinusoidal",
    "model.tie": "all",
    "model.dropout": 0.2,
    "training.label_smoothing": 0.1,
    "training.max_tokens": 4096,
    "training.optimizer_betas": (0.9, 0.98),
    "training.optimizer_epsilon": 1e-8,
    "training.schedule": "linear",
    "training.learning_rate": 0.003,
    "training.warmup_steps": 500,
    "training.max_updates": 6000,
    "training.clip_norm": 1.0,
    "training.validate_every": 250,
    "training.keep_last": 5,
    "training.average_last": 5,
    "search.beam": 5,
}

_CHARACTER_TRAINING = {
    "tokenizer.joint": False,
    "tokenizer.source.kind": "characters",
    "model.tie": "decoder",
    "training.label_smoothing": 0.1,
    "training.max_tokens": 2048,
    "training.optimizer_betas": (0.9, 0.98),
    "training.optimizer_epsilon": 1e-9,
    "training.schedule": "linear",
    "training.learning_rate": 0.002,
    "training.warmup_steps": 400,
    "training.max_updates": 8000,
    "training.clip_norm": 1.0,
    "training.validate_every": 500,
    "search.beam": 5,
    "search.length_penalty": 0.0,
    "evaluation.metrics": ("wer", "cer"),
}

_CHARACTER = {
    **_CHARACTER_TRAINING,
    "model.kind": "transformer",
    "model.d_model": 128,
    "model.n_heads": 4,
    "model.d_ff": 512,
    "model.n_encoder_layers": 3,
    "model.n_decoder_layers": 3,
    "model.norm": "pre",
    "model.activation": "relu",
    "model.positions": "sinusoidal",
    "model.dropout": 0.1,
}

# The published models are wider (1000 a direction, four layers of 1000, 20 layers of 512) and trained on millions of
# sentences. These have about as many parameters as `character`, and its training.
_RNN = {
    **_CHARACTER_TRAINING,
    "model.kind": "rnn",
    "model.d_model": 128,
    "model.d_hidden": 256,
    "model.n_encoder_layers": 2,
    "model.n_decoder_layers": 1,
    "model.bidirectional": True,
    "model.dropout": 0.2,
}

_RNN_PLAIN = {**_RNN, "model.cell": "lstm", "model.attention": "none", "model.feedback": True}

_RNN_BAHDANAU = {**_RNN, "model.cell": "gru", "model.attention": "bahdanau"}

_RNN_LUONG = {
    **_RNN,
    "model.cell": "lstm",
    "model.attention": "luong",
    "model.score": "general",
    "model.input_feeding": True,
}

_CONVS2S_SMALL = {
    **_CHARACTER_TRAINING,
    "model.kind": "convs2s",
    "model.d_model": 128,
    "model.d_hidden": 128,
    "model.kernel": 3,
    "model.n_encoder_layers": 5,
    "model.n_decoder_layers": 5,
    "model.dropout": 0.1,
}

_LABELS_TRAINING = {
    "tokenizer.joint": False,
    "tokenizer.source.kind": "words",
    "training.label_smoothing": 0.0,
    "training.max_tokens": 2048,
    "training.schedule": "linear",
    "training.learning_rate": 0.004,
    "training.warmup_steps": 50,
    "training.max_updates": 1000,
    "training.clip_norm": 1.0,
    "training.validate_every": 200,
}

_TAGGER = {
    **_LABELS_TRAINING,
    "model.kind": "tagger",
    "model.encoder": "gru",
    "model.d_model": 96,
    "model.d_hidden": 128,
    "model.n_layers": 1,
    "model.bidirectional": True,
    "model.dropout": 0.3,
    "training.select": "accuracy",
    "evaluation.metrics": ("accuracy",),
}

_CTC = {
    **_LABELS_TRAINING,
    "model.kind": "ctc",
    "model.cell": "gru",
    "model.d_model": 128,
    "model.d_hidden": 128,
    "model.n_layers": 2,
    "model.dropout": 0.2,
    "training.select": "per",
    "evaluation.metrics": ("per", "exact"),
}

_TORCH_DEFAULT = {
    "model.kind": "transformer",
    "model.d_model": 512,
    "model.n_heads": 8,
    "model.d_ff": 2048,
    "model.n_encoder_layers": 6,
    "model.n_decoder_layers": 6,
    "model.norm": "post",
    "model.activation": "relu",
    "model.norm_epsilon": 1e-5,
    "model.attention_bias": True,
    "model.dropout": 0.1,
    "model.attention_dropout": 0.1,
    "model.ffn_dropout": 0.1,
}

PRESETS = MappingProxyType(
    {
        "paper-base": Preset("the base model of [Vaswani 2017]: post-norm, 6+6 layers, d_model 512", _PAPER_BASE),
        "paper-big": Preset("the big model of [Vaswani 2017]: d_model 1024, dropout 0.3, 300,000 updates", _PAPER_BIG),
        "t2t-base-v1": Preset("tensor2tensor's transformer_base_v1, as published: post-norm", _T2T_BASE_V1),
        "t2t-base-v2": Preset("its transformer_base_v2: pre-norm, more dropout, warm-up 8,000, factor 2", _T2T_BASE_V2),
        "t2t-base-v3": Preset("its transformer_base since v3: v2 with Adam's second beta at 0.997", _T2T_BASE_V3),
        "multi30k-tiny": Preset("tens of thousands of sentence pairs: 4+4 pre-norm layers, width 128", _MULTI30K_TINY),
        "character": Preset(
            "spelling to sound, transliteration: characters, 3+3 pre-norm layers of width 128", _CHARACTER
        ),
        "rnn-plain": Preset("LSTM encoder and decoder with one vector between them [Sutskever 2014]", _RNN_PLAIN),
        "rnn-bahdanau": Preset("GRU, additive attention by the state before the step [Bahdanau 2015]", _RNN_BAHDANAU),
        "rnn-luong": Preset("LSTM, general attention by the state after it, input feeding [Luong 2015]", _RNN_LUONG),
        "convs2s-small": Preset("gated convolutions, attention in each decoder layer [Gehring 2017]", _CONVS2S_SMALL),
        "tagger": Preset("a label a word, such as parts of speech: GRU in both directions", _TAGGER),
        "ctc": Preset("symbols in the order of the source, without an alignment: GRU and CTC [Graves 2006]", _CTC),
        "torch-default": Preset("the layers of torch.nn.Transformer with its default arguments", _TORCH_DEFAULT),
    }
)


def names() -> dict[str, str]:
    """Return every preset's name and summary, in reading order."""
    return {name: preset.description for name, preset in PRESETS.items()}


def preset_layer(name: str) -> Layer:
    """Return the values of a preset as the lowest layer of a recipe. An unknown name is a ConfigError with the nearest
    one.
    """
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f"Did you mean `{near[0]}`?" if near else f"There are {', '.join(PRESETS)}."
        raise ConfigError(f"Unknown preset `{name}`.", hint=hint)
    values: Tree = {}
    for key, value in PRESETS[name].values.items():
        set_key(values, key, value)
    return Layer(f"preset {name}", values)
