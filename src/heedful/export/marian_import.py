"""From a Marian checkpoint in the format of Hugging Face (such as those of OPUS-MT) to a bundle.

    config.json                                    MarianMTModel: post-norm, sinusoids in halves
    model.safetensors or pytorch_model.bin         the weights
    source.spm, target.spm                         sentencepiece models of both sides
    vocab.json, and target_vocab.json if separate  ids of their pieces

Symbols are renumbered, so that PAD, UNK, BOS and EOS come first; where Marian begins with its pad symbol, BOS is a
copy of it that is no output. Knows nothing of how the bundle is used.
"""

import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

import heedful
from heedful.config import Layer, Tree, resolve, to_tree
from heedful.datasets.catalogue import IMPORTED
from heedful.decoding.config import require_beam_search, search_of, with_changes
from heedful.errors import ConfigError, HeedfulError
from heedful.export.huggingface_engine import TransformersEngine
from heedful.export.huggingface_weights import NORM_EPSILON, imported_weights
from heedful.export.optional_packages import package
from heedful.export.output_folder import prepared_place, put_in_place, refuse_existing
from heedful.export.parity import Parity, compare_engines, write_parity
from heedful.models.bundle import Bundle, write_bundle
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.models.weights import FILE, load_weights, read_tensors
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig
from heedful.text.interface import Tokenizer
from heedful.text.marian_tokenizer import LANGUAGE_CODE, MarianPieceTokenizer
from heedful.text.tokenizer import Tokenizers
from heedful.text.vocabulary import SPECIALS, UNK, Vocabulary

PICKLED = "pytorch_model.bin"
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
SAME_ON_BOTH_SIDES = ("attention_heads", "ffn_dim")
SIZES = {"layers": 12, "attention_heads": 16, "ffn_dim": 4096}
DEFAULTS = {  # of transformers' MarianConfig, for what a file leaves out
    "d_model": 1024,
    **{f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in SIZES.items()},
    "activation_function": "gelu",
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "max_position_embeddings": 1024,
    "pad_token_id": 58100,
    "eos_token_id": 0,
    "decoder_start_token_id": 58100,
}
RANDOM_SENTENCES = 100
CARD = """---
library_name: "heedful"
license: "unknown"
tags: ["heedful", "transformer", "marian"]
---

# A Heedful model, imported

From the Marian checkpoint {name}, by heedful {version}. `parity.json` says how it compared with transformers, both with
greedy search. Data, languages, licence, scores and limits are those of the checkpoint: see its own card. Nothing was
scored here; `heedful evaluate FOLDER --source FILE --reference FILE` does it.

```sh
heedful translate FOLDER input.txt > output.txt
```

It gives an output also where no output is right, and is not for uses in which a wrong one does harm unread.
"""
SIDE = SideConfig(kind="pieces", unicode_form="none")

Json = dict[str, Any]


class Renumbering(NamedTuple):
    """Our vocabulary, and for each of our ids the id that Marian has for it."""

    vocabulary: Vocabulary
    theirs: list[int]


class Checkpoint(NamedTuple):
    """A folder's configuration, as MarianMTModel would fill it up, and its weights."""

    folder: Path
    config: Json
    generation: Json
    weights: dict[str, Tensor]


def import_marian(folder: Path) -> Bundle:
    """Read a checkpoint. Raises HeedfulError where a file is missing or damaged, ConfigError for another model."""
    checkpoint = Checkpoint(folder, _checked_config(folder), _generation(folder), _read_weights(folder))
    source, target = _renumberings(checkpoint)
    tokenizers = Tokenizers(
        _tokenizer(folder / "source.spm", source.vocabulary), _tokenizer(folder / "target.spm", target.vocabulary)
    )
    config = _model_config(checkpoint.config, folder / "config.json")
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    try:
        weights = imported_weights(config, checkpoint.weights, source.theirs, target.theirs)
    except (KeyError, IndexError) as error:
        hint = "The weights and the configuration (or the vocabularies) are of different models."
        raise HeedfulError(f"{folder}: the weights lack {error}.", hint=hint) from None
    load_weights(model, weights, folder)
    return Bundle(model.eval(), tokenizers, _recipe(checkpoint, config), config)


def _generation(folder: Path) -> Json:
    path = folder / "generation_config.json"
    return _read_json(path) if path.exists() else {}


def _checked_config(folder: Path) -> Json:
    """Read `config.json` of a MarianMTModel that Heedful can express. Raises ConfigError for any other."""
    path = folder / "config.json"
    if not path.exists():
        what = f"{folder} has no config.json" if folder.is_dir() else f"There is no folder {folder}"
        raise ConfigError(f"{what}.", hint="Name the folder of a Marian checkpoint.")
    config = {**DEFAULTS, **_read_json(path)}
    if config.get("model_type") != "marian":
        hint = "Other kinds of models cannot be imported."
        raise ConfigError(f'{path}: model_type is {config.get("model_type")!r}, not "marian".', hint=hint)
    wrong = [
        f"encoder_{name} and decoder_{name} differ ({config[f'encoder_{name}']} and {config[f'decoder_{name}']})"
        for name in SAME_ON_BOTH_SIDES
        if config[f"encoder_{name}"] != config[f"decoder_{name}"]
    ]
    if config["activation_function"] not in ACTIVATIONS:
        wrong.append(f'activation_function is "{config["activation_function"]}"')
    if wrong:
        raise ConfigError(f"{path}: no Heedful model is like this: {'; '.join(wrong)}.", hint="It cannot be imported.")
    return config


def _model_config(config: Json, origin: Path) -> TransformerConfig:
    tied, shared = config["tie_word_embeddings"], config["share_encoder_decoder_embeddings"]
    values = {
        "d_model": config["d_model"],
        "n_heads": config["encoder_attention_heads"],
        "d_ff": config["encoder_ffn_dim"],
        "n_encoder_layers": config["encoder_layers"],
        "n_decoder_layers": config["decoder_layers"],
        "norm": "post",
        "activation": ACTIVATIONS[config["activation_function"]],
        "norm_epsilon": NORM_EPSILON,
        "attention_bias": True,
        "output_bias": True,
        "positions": "sinusoidal",
        "scale_embedding": config["scale_embedding"],
        "tie": "none" if not tied else "all" if shared else "decoder",
        "dropout": float(config["dropout"]),
        "attention_dropout": float(config["attention_dropout"]),
        "ffn_dropout": float(config["activation_dropout"]),
    }
    found: TransformerConfig = resolve(TransformerConfig, [Layer(str(origin), values)]).config
    return found


def _renumberings(checkpoint: Checkpoint) -> tuple[Renumbering, Renumbering]:
    """Renumber the source's and the target's symbols; both alike where the vocabulary is one."""
    names = ["vocab.json"]
    if (checkpoint.folder / "target_vocab.json").is_file():
        names.append("target_vocab.json")
    sides = [_renumbering(checkpoint, checkpoint.folder / name) for name in names]
    return sides[0], sides[-1]


def _renumbering(checkpoint: Checkpoint, path: Path) -> Renumbering:
    """Assign our ids to the symbols of one vocabulary file."""
    vocabulary: dict[str, int] = _read_json(path)
    config = checkpoint.config
    special = [config["pad_token_id"], vocabulary.get(SPECIALS[UNK])]
    special += [config["decoder_start_token_id"], config["eos_token_id"]]
    symbols = {index: symbol for symbol, index in vocabulary.items()}
    if sorted(symbols) != list(range(len(vocabulary))):
        raise HeedfulError(f"{path}: the ids are not 0 to {len(vocabulary) - 1:,}.", hint="Copy it again.")
    for name, index in zip(SPECIALS, special, strict=True):
        if index not in symbols:
            raise HeedfulError(f"{path} has no symbol for {name} (id {index}).", hint="Copy it again.")
    others = [index for index in symbols if index not in special]
    return Renumbering(Vocabulary(symbols[index] for index in sorted(others)), [*special, *sorted(others)])


def import_checkpoint(folder: Path, out: Path, lines: Sequence[str]) -> Parity:
    """Write the bundle of a checkpoint, translate `lines` with it and with transformers, and put it in its place if the
    two agree; without lines, those of `random_sentences` are taken.

    Raises ConfigError before any work where `out` exists or Heedful has no such model, and CheckFailed where the two
    disagree: the bundle is then kept as `OUT.failed`, with the report.
    """
    refuse_existing(out)
    package("transformers")
    bundle = import_marian(folder)
    search = require_beam_search(search_of(bundle.recipe, "the checkpoint"), "Marian")
    theirs = TransformersEngine(folder, search)
    with prepared_place(out) as partial:
        write_bundle(partial, bundle, CARD.format(name=folder.resolve().name, version=heedful.__version__))
        greedy = with_changes(search, {"beam": 1, "precision": "float32"})
        native = translator_of(bundle.model, bundle.tokenizers, greedy)
        compared = lines or random_sentences(bundle.tokenizers.source, RANDOM_SENTENCES)
        parity = compare_engines(native, theirs, compared)
        write_parity(partial, parity)
        put_in_place(partial, out, parity, "The bundle")
    return parity


def random_sentences(tokenizer: Tokenizer, count: int) -> list[str]:
    """Draw random pieces of the tokeniser's own, one to twenty a sentence: they mean nothing, but serve to compare."""
    rng = random.Random(1)
    ids = [index for index in range(len(SPECIALS), len(tokenizer)) if not LANGUAGE_CODE.match(tokenizer.symbol(index))]
    return [tokenizer.decode(rng.choices(ids, k=rng.randint(1, 20))) for _ in range(count)]


def _recipe(checkpoint: Checkpoint, model: TransformerConfig) -> Tree:
    """Reconstruct the recipe, as far as one can know it."""
    settings = {**checkpoint.config, **checkpoint.generation}
    search = {
        "beam": settings.get("num_beams", 1),
        "length_penalty": max(0.0, float(settings.get("length_penalty", 1.0))),
        "max_source": settings["max_position_embeddings"] - 1,
    }
    return {
        "data": {"catalogue": IMPORTED},
        "tokenizer": {"joint": model.tie == "all", "source": to_tree(SIDE)},
        "model": to_tree(model),
        "search": to_tree(search_of({"search": search}, "the checkpoint")),
    }


def _read_weights(folder: Path) -> dict[str, Tensor]:
    """Read the weights of either file; the pickled one is read as tensors only, so that no code in it can run."""
    pickled = folder / PICKLED
    if (folder / FILE).is_file() or not pickled.is_file():
        if not (folder / FILE).is_file():
            hint = "Weights in several files cannot be read: save the model in one."
            raise HeedfulError(f"{folder} has neither {FILE} nor {PICKLED}.", hint=hint)
        return read_tensors(folder / FILE)
    try:
        return torch.load(pickled, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        reason = str(error).splitlines()[0]
        raise HeedfulError(f"{pickled} is damaged, or more than weights ({reason}).", hint="Copy it again.") from None


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise HeedfulError(f"There is no {path}.", hint="Is this the folder of a Marian checkpoint?") from None
    except OSError as error:
        raise HeedfulError(f"{path} could not be read: {error.strerror}.", hint="Copy it again.") from None


def _read_json(path: Path) -> Json:
    try:
        content = json.loads(_read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise HeedfulError(f"{path} is no JSON ({error}).", hint="Copy it again.") from None
    if not isinstance(content, dict):
        raise HeedfulError(f"{path} is no JSON object.", hint="Copy it again.")
    return content


def _tokenizer(path: Path, vocabulary: Vocabulary) -> MarianPieceTokenizer:
    try:
        return MarianPieceTokenizer(SIDE, _read_bytes(path), vocabulary)
    except RuntimeError:
        raise HeedfulError(f"{path} is no sentencepiece model.", hint="Copy it again.") from None
