"""A target that stores the weights as they are and reads them with the native engine: exact, or spoilt on purpose."""

from collections.abc import Mapping
from pathlib import Path

import torch

from heedful.config import read_toml, resolve
from heedful.export.parity import FLOAT32, Engine, Tolerance
from heedful.models.bundle import Bundle
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.models.weights import load_weights, read_tensors, weights_of, write_tensors
from heedful.recipe.recipe import Recipe
from heedful.tasks.table import translator_of
from heedful.text.tokenizer import Tokenizers, load_tokenizers

TOLERANCES: Mapping[str, Tolerance] = {"float32": FLOAT32, "spoilt": FLOAT32}
POSITIONS = ("sinusoidal", "t2t", "learned", "relative", "t5", "rotary", "alibi", "none")
SEARCH_LACKS = ("no_repeat_ngram",)


def refusals(config: TransformerConfig, tokenizers: Tokenizers) -> list[str]:
    """Everything but characters and post-norm."""
    kind = type(tokenizers.source).__name__
    wrong = {f"a {kind}": kind != "CharacterTokenizer", 'norm = "pre"': config.norm == "pre"}
    return [what for what, is_so in wrong.items() if is_so]


def computes_in(precision: str) -> bool:
    """Every precision that there is."""
    return True


def export(bundle: Bundle, folder: Path, precision: str) -> None:
    """The weights; "spoilt" with noise."""
    weights = weights_of(bundle.model)
    if precision == "spoilt":
        torch.manual_seed(1)
        weights = {name: tensor + torch.randn_like(tensor) for name, tensor in weights.items()}
    write_tensors(folder / "weights.safetensors", weights)


def open_export(folder: Path) -> Engine:
    """The native engine on what was written."""
    recipe: Recipe = resolve(Recipe, [read_toml(folder / "recipe.toml")]).config
    tokenizers = load_tokenizers(folder)
    model = build_model(recipe.model, len(tokenizers.source), len(tokenizers.target))
    load_weights(model, read_tensors(folder / "weights.safetensors"), folder)
    return translator_of(model, tokenizers, recipe.search)
