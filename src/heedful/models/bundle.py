"""A bundle: everything that is needed to use a model, in one folder, without pickle.

    model.safetensors    the weights, each shared matrix once
    recipe.toml          the whole configuration it was made with
    tokenizer.*          the tokenisers
    bundle.toml          format, version, vocabulary sizes and the tokenisers' fingerprints
    README.md            the model card

Knows of the recipe only its `model` table; the rest is carried along.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit

import heedful
from heedful.config import Tree, read_toml
from heedful.errors import CannotWrite, ConfigError, HeedfulError
from heedful.models.config import ModelConfig
from heedful.models.interface import Model
from heedful.models.kinds import CORE_KINDS, Kinds
from heedful.models.weights import FILE, load_weights, read_tensors, weights_of, write_tensors
from heedful.text.files import write_text
from heedful.text.tokenizer import Tokenizers, load_tokenizers

FORMAT = 1


class Bundle(NamedTuple):
    """A model with its tokenisers its settings, and the recipe (as a plain tree) that made it."""

    model: Model
    tokenizers: Tokenizers
    recipe: Tree
    config: ModelConfig


def is_bundle(folder: Path) -> bool:
    """Whether a folder claims to be a bundle."""
    return (folder / "bundle.toml").is_file()


def save_bundle(folder: Path, bundle: Bundle, card: str) -> None:
    """Write a bundle whole or not at all; one that is there already is replaced only once the new one is complete.

    Raises CannotWrite where the system refuses.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        write_tensors(partial / FILE, weights_of(bundle.model))
        bundle.tokenizers.save(partial)
        write_text(partial / "recipe.toml", tomlkit.dumps(bundle.recipe))
        write_text(partial / "README.md", card)
        write_text(partial / "bundle.toml", tomlkit.dumps(_facts(bundle.tokenizers)))
        replaced = folder.with_name(f".{folder.name}.replaced")
        shutil.rmtree(replaced, ignore_errors=True)
        if folder.exists():
            folder.rename(replaced)
        partial.rename(folder)
        shutil.rmtree(replaced, ignore_errors=True)
    except (OSError, CannotWrite) as refusal:
        raise CannotWrite(folder, refusal) from refusal
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def load_bundle(folder: Path, kinds: Kinds = CORE_KINDS) -> Bundle:
    """Read a bundle of one of these kinds. Raises HeedfulError for what is missing, damaged, or of another version."""
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
    facts = read_toml(folder / "bundle.toml").values
    if facts.get("format") != FORMAT:
        hint = f"It was written by heedful {facts.get('heedful', 'unknown')}; this is {heedful.__version__}."
        raise HeedfulError(
            f"{folder} has bundle format {facts.get('format')}, but this version reads {FORMAT}.", hint=hint
        )
    recipe = read_toml(folder / "recipe.toml")
    tokenizers = load_tokenizers(folder)
    if _facts(tokenizers)["tokenizers"] != facts.get("tokenizers"):
        raise HeedfulError(
            f"The tokenizer files in {folder} are not those of this model.", hint="Copy the bundle again."
        )
    config = kinds.config_of(recipe.values, recipe.origin)
    model = kinds.build(config, len(tokenizers.source), len(tokenizers.target))
    load_weights(model, read_tensors(folder / FILE), folder / FILE)
    return Bundle(model.eval(), tokenizers, recipe.values, config)


def _facts(tokenizers: Tokenizers) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "heedful": heedful.__version__,
        "tokenizers": {
            "source_size": len(tokenizers.source),
            "target_size": len(tokenizers.target),
            "source": tokenizers.source.fingerprint,
            "target": tokenizers.target.fingerprint,
        },
    }
