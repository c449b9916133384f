"""A folder that plain `transformers` loads: AutoModelForSeq2SeqLM and AutoTokenizer, without any code of ours.

    config.json              the architecture: Marian, Pegasus or Blenderbot, whichever computes what the model does
    model.safetensors        the weights
    generation_config.json   the search
    tokenizer.json, tokenizer_config.json
    target/                  where the vocabularies differ: a tokeniser that encodes targets
    README.md                the model card

Its beam search ends and ranks by other rules than ours, so that models are compared by greedy search.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import heedful
from heedful.config import Layer, read_toml, resolve
from heedful.decoding.config import BeamSearch, require_beam_search, search_of
from heedful.export.huggingface_engine import TransformersEngine, transformers
from heedful.export.huggingface_tokenizer import joint_tokenizer, tokenizer_config, tokenizer_refusals, union_tokenizer
from heedful.export.huggingface_weights import NORM_EPSILON, exported_weights, family
from heedful.export.parity import FLOAT32, Engine, Tolerance
from heedful.models.bundle import Bundle
from heedful.models.transformer_config import TransformerConfig
from heedful.models.weights import FILE, weights_of, write_tensors
from heedful.text.atomic_files import write_text
from heedful.text.tokenizer import Tokenizers, load_tokenizers
from heedful.text.vocabulary import BOS, EOS, PAD

TOLERANCES: Mapping[str, Tolerance] = {"float32": FLOAT32}
CLASSES = {
    "marian": "MarianMTModel",
    "pegasus": "PegasusForConditionalGeneration",
    "blenderbot": "BlenderbotForConditionalGeneration",
}

CARD = """---
library_name: "transformers"
license: "unknown"
tags: ["heedful", "{family}"]
---

# A Heedful model for transformers

A {norm}-norm Transformer in the class {kind}, written by heedful {version}.
`parity.json` says how it compared with the model itself, both with greedy search. Data, languages, licence, scores and
limits are those of the bundle that it was made from: publish its model card (README.md) with this one.

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForSeq2SeqLM.from_pretrained("FOLDER")
batch = tokenizer(["..."], padding=True, return_tensors="pt")
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

{sides}

Heedful searches with beam {beam} and length penalty {alpha}. It divides by ((5 + length) / 6)^alpha, where `generate`
divides by length^alpha, and a finished output takes its beam with it, so that beam search may find other outputs here.
With `num_beams=1` they are the same; with no length penalty on either side they seldom differ. `generate` has one
`max_length`; Heedful stops at the source's length + {extra}.
"""

Json = dict[str, Any]

POSITIONS = ("sinusoidal", "t2t", "learned")
SEARCH_LACKS = ("method", "no_repeat_ngram", "shortlist")


def refusals(config: TransformerConfig, tokenizers: Tokenizers) -> list[str]:
    """List what no class of transformers computes of such a model."""
    refused = tokenizer_refusals(tokenizers)
    width = config.d_model // config.n_heads
    if config.d_model % config.n_heads:
        refused.append(f"{config.n_heads} heads that do not divide d_model = {config.d_model}")
    for name, own in (("d_k", config.head_key_width), ("d_v", config.head_value_width)):
        if own > width:
            refused.append(f"{name} = {own} (a head has at most d_model / n_heads = {width})")
    if config.norm == "post" and config.positions in ("t2t", "learned"):
        refused.append(
            f'positions = "{config.positions}" with norm = "post" (MarianMTModel has the paper\'s sinusoids)'
        )
    if config.norm == "post" and config.norm_epsilon != NORM_EPSILON:
        refused.append(f'norm_epsilon = {config.norm_epsilon} with norm = "post" (MarianMTModel has {NORM_EPSILON})')
    return refused


def computes_in(precision: str) -> bool:
    """Return whether a precision exists; all of them run."""
    return True


def export(bundle: Bundle, folder: Path, precision: str) -> None:
    """Write the files listed above into a folder. Raises HeedfulError where transformers cannot read them later on."""
    transformers()
    config: TransformerConfig = resolve(TransformerConfig, [Layer("the model", bundle.recipe["model"])]).config
    search = require_beam_search(search_of(bundle.recipe, "the model"), "huggingface")
    tokenizers = bundle.tokenizers
    union = config.tie != "all"
    n_positions = _positions(config, search)
    weights = exported_weights(config, weights_of(bundle.model), n_positions, union)
    write_tensors(folder / FILE, weights)
    n_symbols = len(weights["model.shared.weight"])
    _write_json(folder / "config.json", model_json(config, n_symbols, n_positions))
    _write_json(folder / "generation_config.json", generation_json(search, n_positions))
    _write_json(folder / "tokenizer_config.json", tokenizer_config(n_positions))
    _write_json(folder / "tokenizer.json", union_tokenizer(tokenizers) if union else joint_tokenizer(tokenizers.source))
    if union:
        _write_json(folder / "target" / "tokenizer_config.json", tokenizer_config(n_positions))
        _write_json(folder / "target" / "tokenizer.json", joint_tokenizer(tokenizers.target))
    write_text(folder / "README.md", model_card(config, search, union))


def open_export(folder: Path) -> Engine:
    """Open the folder by plain transformers."""
    search = require_beam_search(search_of(read_toml(folder / "recipe.toml").values, "the export"), "huggingface")
    return TransformersEngine(folder, search, load_tokenizers(folder).target.piece)


def model_json(config: TransformerConfig, n_symbols: int, n_positions: int) -> Json:
    """Make `config.json`."""
    kind = family(config)
    sides = ("encoder", "decoder")
    activation = {"relu": "relu", "gelu": "gelu", "swish": "silu"}[config.activation]
    marian = {"decoder_vocab_size": n_symbols, "share_encoder_decoder_embeddings": True} if kind == "marian" else {}
    return {
        "architectures": [CLASSES[kind]],
        "model_type": kind,
        "is_encoder_decoder": True,
        "vocab_size": n_symbols,
        **marian,
        "d_model": config.d_model,
        "encoder_layers": config.n_encoder_layers,
        "decoder_layers": config.n_decoder_layers,
        **{f"{side}_attention_heads": config.n_heads for side in sides},
        **{f"{side}_ffn_dim": config.d_ff for side in sides},
        "activation_function": activation,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.ffn_dropout,
        "max_position_embeddings": n_positions,
        "scale_embedding": config.scale_embedding,
        "tie_word_embeddings": config.tie != "none",
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "torch_dtype": "float32",
    }


def generation_json(search: BeamSearch, n_positions: int) -> Json:
    """Make `generation_config.json`. Its length penalty divides by |Y|^alpha, ours by ((5 + |Y|) / 6)^alpha."""
    return {
        "num_beams": search.beam,
        "length_penalty": search.length_penalty,
        "early_stopping": False,
        "max_length": n_positions,
        "suppress_tokens": [PAD, BOS],
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "forced_eos_token_id": EOS,
        "decoder_start_token_id": BOS,
    }


def model_card(config: TransformerConfig, search: BeamSearch, union: bool) -> str:
    """Write README.md of the export: how to use it, and what differs."""
    one = (
        "`tokenizer` encodes sources and decodes targets: one vocabulary holds the target's symbols, then the source's."
    )
    return CARD.format(
        norm=config.norm,
        family=family(config),
        kind=CLASSES[family(config)],
        version=heedful.__version__,
        sides=f"{one} The tokenizer in the folder `target` encodes targets." if union else "It serves both sides.",
        beam=search.beam,
        alpha=search.length_penalty,
        extra=search.max_extra,
    )


def _positions(config: TransformerConfig, search: BeamSearch) -> int:
    """Return the most tokens of a source or a target with its EOS or BOS: learned, or the limit of search."""
    wanted = search.max_source + search.max_extra + 1
    return config.max_positions if config.positions == "learned" else wanted


def _write_json(path: Path, content: Json) -> None:
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
