"""A bundle: everything that is needed to use a model, in one folder, without pickle.

    model.safetensors    the weights, each shared matrix once
    recipe.toml          the whole configuration it was made with
    tokenizer.*          the tokenisers
    bundle.toml          format, version, vocabulary sizes and the tokenisers' fingerprints
    README.md            the model card
    SHA256SUMS           the checksums of all these files but the card

Knows of the recipe only its `model` table; the rest is carried along.
"""

from pathlib import Path
from typing import Any, NamedTuple

import tomlkit
import torch

import heedful
from heedful.config import Tree, read_toml
from heedful.errors import ConfigError, HeedfulError
from heedful.models.config import ModelConfig
from heedful.models.interface import Model
from heedful.models.kinds import CORE_KINDS, Kinds
from heedful.models.size_check import refuse_impossible_sizes
from heedful.models.weights import (
    FILE,
    check_shapes,
    load_weights,
    read_shapes,
    read_tensors,
    weights_of,
    write_tensors,
)
from heedful.records.checksums import SUMS, check_files, read_checksums, refuse_special_files, write_checksums
from heedful.text.atomic_files import replacing_folder, restore_folder, write_text
from heedful.text.tokenizer import Tokenizers, load_tokenizers

FORMAT = 1


class Bundle(NamedTuple):
    """A model with its tokenisers, its settings, and the recipe (as a plain tree) that made it."""

    model: Model
    tokenizers: Tokenizers
    recipe: Tree
    config: ModelConfig


def is_bundle(folder: Path) -> bool:
    """Return whether a folder is marked as a bundle."""
    return (folder / "bundle.toml").is_file()


def save_bundle(folder: Path, bundle: Bundle, card: str) -> None:
    """Write a bundle whole or not at all; one that is there already is replaced only once the new one is complete.

    Raises CannotWrite where the system refuses.
    """
    with replacing_folder(folder) as partial:
        write_bundle(partial, bundle, card)


def write_bundle(folder: Path, bundle: Bundle, card: str) -> None:
    """Write the files of a bundle into a folder, beside those that are there, and the checksums of all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / FILE, weights_of(bundle.model))
    bundle.tokenizers.save(folder)
    write_text(folder / "recipe.toml", tomlkit.dumps(bundle.recipe))
    write_text(folder / "README.md", card)
    write_text(folder / "bundle.toml", tomlkit.dumps(_facts(bundle.tokenizers)))
    write_checksums(folder)


def load_bundle(folder: Path, kinds: Kinds = CORE_KINDS) -> Bundle:
    """Read a bundle of one of these kinds. Raises HeedfulError for what is missing, damaged, or of another version."""
    restore_folder(folder)
    if not is_bundle(folder):
        what = (
            "is no bundle: it has no bundle.toml"
            if folder.is_dir()
            else "does not exist"
            if not folder.exists()
            else "is a file"
        )
        hint = "Name the `model` folder of a finished run, or the run directory itself."
        raise ConfigError(f"{folder} {what}.", hint=hint)
    refuse_special_files(folder)
    facts = read_toml(folder / "bundle.toml").values
    if facts.get("format") != FORMAT:
        hint = f"It was written by heedful {facts.get('heedful', 'unknown')}; this is {heedful.__version__}."
        raise HeedfulError(
            f"{folder} has bundle format {facts.get('format')}, but this version reads {FORMAT}.", hint=hint
        )
    _check_settings(folder, facts)
    recipe = read_toml(folder / "recipe.toml")
    tokenizers = load_tokenizers(folder)
    if _facts(tokenizers)["tokenizers"] != facts.get("tokenizers"):
        raise HeedfulError(
            f"The tokenizer files in {folder} are not those of this model.", hint="Copy the bundle again."
        )
    config = kinds.config_of(recipe.values, recipe.origin)
    model = _model(folder, config, kinds, tokenizers)
    return Bundle(model.eval(), tokenizers, recipe.values, config)


def _check_settings(folder: Path, facts: Tree) -> None:
    """Check the checksums of all files but the weights, which are checked when they are read; earlier versions wrote
    none.
    """
    sums = read_checksums(folder)
    if sums is None and facts.get("checksums"):
        raise HeedfulError(f"{folder / SUMS} is missing.", hint="Copy the whole folder again.")
    check_files(folder, sums.keys() - {FILE} if sums else ())


def _model(folder: Path, config: ModelConfig, kinds: Kinds, tokenizers: Tokenizers) -> Model:
    """Build the model of these settings, only if the weights are those of such a model."""
    shapes = kinds.with_names_of_today(config, read_shapes(folder / FILE))
    refuse_impossible_sizes(config, shapes, folder / FILE)
    sizes = len(tokenizers.source), len(tokenizers.target)
    try:
        with torch.device("meta"):
            check_shapes(kinds.build(config, *sizes), shapes, folder / FILE)
    except ValueError as error:
        raise HeedfulError(f"{folder / 'recipe.toml'}: {error}", hint="Copy the whole folder again.") from None
    model = kinds.build(config, *sizes)
    load_weights(model, kinds.with_names_of_today(config, read_tensors(folder / FILE)), folder / FILE)
    return model


def _facts(tokenizers: Tokenizers) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "heedful": heedful.__version__,
        "checksums": "sha256",
        "tokenizers": {
            "source_size": len(tokenizers.source),
            "target_size": len(tokenizers.target),
            "source": tokenizers.source.fingerprint,
            "target": tokenizers.target.fingerprint,
        },
    }
