"""A bundle as a model of CTranslate2, by CTranslate2's own converter classes.

The folder is a model of CTranslate2 as it stands: `ctranslate2.Translator(folder)` reads it. Each source must end with
"</s>", which the library adds itself; the decoder begins with "<s>". Knows nothing of search, which is in
`heedful.export.ctranslate2_backend`.
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from heedful.attention import MultiHeadAttention, scaled_dot
from heedful.attention.normalise import softmax
from heedful.config import Layer, Tree, read_toml, resolve
from heedful.decoding.config import SearchConfig, search_of
from heedful.decoding.shortlist import Shortlist, load_shortlist, vocabulary_map
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError
from heedful.export.ctranslate2_backend import CTranslate2Backend
from heedful.export.ctranslate2_reader import CTranslate2Folder, library
from heedful.export.parity import FLOAT32, Tolerance
from heedful.layers.sublayer import Sublayer
from heedful.models.bundle import Bundle
from heedful.models.transformer import Transformer
from heedful.models.transformer_config import TransformerConfig
from heedful.text.atomic_files import write_text
from heedful.text.tokenizer import Tokenizer, Tokenizers, load_tokenizers
from heedful.text.vocabulary import BOS, EOS, SPECIALS, UNK

TOLERANCES: Mapping[str, Tolerance] = {
    "float32": FLOAT32,
    "int8": Tolerance(equal_texts=0.75, log_p=0.5),  # a model of Multi30k had 0.91 to 0.94, and 0.20
    "bfloat16": Tolerance(equal_texts=0.9, log_p=0.2),  # there 0.98, and 0.06
}

POSITIONS = ("sinusoidal", "t2t", "learned", "none")  # those that are a table of vectors, or zeros
SEARCH_LACKS = ("method", "no_repeat_ngram")


def refusals(config: TransformerConfig, tokenizers: Tokenizers) -> list[str]:
    """List what cannot be expressed: of a Transformer only some positions, and any other model."""
    return [] if config.kind == "transformer" else [f'kind = "{config.kind}"']


def computes_in(precision: str) -> bool:
    """Return whether the library has kernels for this precision on this processor; for bfloat16 on few."""
    return precision in library().get_supported_compute_types("cpu")


def export(bundle: Bundle, folder: Path, precision: str) -> None:
    """Write model.bin, config.json and the vocabularies. Raises ConfigError for attention that is not the paper's."""
    _check_attention(bundle.model)
    ctranslate2 = library()
    copied = bundle._replace(model=copy.deepcopy(bundle.model))  # the library quantises in place
    specification = _specification(ctranslate2, copied)

    class Converter(ctranslate2.converters.Converter):
        """Hands the filled specification to the library, which checks, quantises and writes it."""

        def _load(self) -> Any:
            return specification

    converted = folder / ".converted"  # the library wants a folder of its own
    shortlist = load_shortlist(folder, bundle.tokenizers)
    mapping = None if shortlist is None else _write_mapping(folder / ".mapping", shortlist, bundle.tokenizers)
    Converter().convert(str(converted), vmap=mapping, quantization=precision)
    (folder / ".mapping").unlink(missing_ok=True)
    for file in converted.iterdir():
        file.rename(folder / file.name)
    converted.rmdir()


def open_export(folder: Path) -> Translator:
    """Open the export with the search settings of the folder's recipe."""
    recipe = read_toml(folder / "recipe.toml").values
    model, search = _settings(recipe)
    precision = str(read_toml(folder / "export.toml").values["type"])
    reader = CTranslate2Folder(folder, precision)
    return Translator(CTranslate2Backend(reader, search, _positions(model, search)), load_tokenizers(folder))


def _settings(recipe: Tree) -> tuple[TransformerConfig, SearchConfig]:
    model: TransformerConfig = resolve(TransformerConfig, [Layer("the recipe", recipe["model"])]).config
    # The precision of the native engine says nothing of an export, which has the one that it was made with.
    return model, search_of(recipe, "the recipe").model_copy(update={"precision": "float32"})


def _positions(config: TransformerConfig, search: SearchConfig) -> int:
    """Return the number of tokens that a source with EOS, or an output with BOS, can have: sinusoids are written that
    far.
    """
    return config.max_positions if config.positions == "learned" else search.max_source + search.max_extra + 1


def token_strings(tokenizer: Tokenizer) -> list[str]:
    """Return a different string for each id: the piece, and behind it "#" and its id where an earlier one is the same.

    A text can hold symbols that look like special ones; to the library a token is its string.
    """
    strings: list[str] = []
    taken: set[str] = set()
    for index in range(len(tokenizer)):
        string = "".join(_visible(letter) for letter in tokenizer.piece(index))
        while string in taken:
            string = f"{string}#{index}"
        taken.add(string)
        strings.append(string)
    return strings


def _visible(letter: str) -> str:
    """Write white space as its number, for it separates the tokens in the library's files."""
    return f"<U+{ord(letter):04X}>" if letter.isspace() else letter


def _write_mapping(path: Path, shortlist: Shortlist, tokenizers: Tokenizers) -> str:
    """Write the shortlist as the library reads it: a source token, a tab and its targets a line,
    first those for all.
    """
    lines = vocabulary_map(shortlist, token_strings(tokenizers.source), token_strings(tokenizers.target))
    write_text(path, "".join(f"{line}\n" for line in lines))
    return str(path)


def _check_attention(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention) and (module.score, module.normalise) != (scaled_dot, softmax):
            raise ConfigError(
                f"ctranslate2 cannot express the score or the normaliser of {name}.",
                hint="It knows scaled dot products and softmax only.",
            )


def _specification(ctranslate2: ModuleType, bundle: Bundle) -> Any:
    """Fill the library's description of a Transformer with the weights of the bundle."""
    model = bundle.model
    assert isinstance(model, Transformer)
    config, search = _settings(bundle.recipe)
    kinds = ctranslate2.specs.Activation
    specification = ctranslate2.specs.TransformerSpec.from_config(
        (config.n_encoder_layers, config.n_decoder_layers),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation={"relu": kinds.RELU, "gelu": kinds.GELU, "swish": kinds.SWISH}[config.activation],
    )
    unk, bos, eos = (SPECIALS[index] for index in (UNK, BOS, EOS))
    specification.config.unk_token, specification.config.bos_token, specification.config.eos_token = unk, bos, eos
    specification.config.decoder_start_token = bos
    specification.config.add_source_eos = True
    specification.config.layer_norm_epsilon = config.norm_epsilon
    specification.register_source_vocabulary(token_strings(bundle.tokenizers.source))
    specification.register_target_vocabulary(token_strings(bundle.tokenizers.target))
    longest = _positions(config, search)
    with torch.no_grad():
        _fill_encoder(specification.encoder, model, longest)
        _fill_decoder(specification.decoder, model, longest)
    return specification


def _fill_encoder(spec: Any, model: Transformer, longest: int) -> None:
    spec.embeddings[0].weight = model.embed_source.weight
    spec.scale_embeddings = model.embed_source.scale
    spec.position_encodings.encodings = model.source_positions(longest).contiguous()
    for layer_spec, layer in zip(spec.layer, model.encoder, strict=True):
        _fill_attention(layer_spec.self_attention, layer.self_attention, layer.self_sublayer)
        _fill_feed_forward(layer_spec.ffn, layer.feed_forward, layer.feed_sublayer)
    if isinstance(model.encoder_norm, nn.LayerNorm):
        _fill_norm(spec.layer_norm, model.encoder_norm)


def _fill_decoder(spec: Any, model: Transformer, longest: int) -> None:
    spec.embeddings.weight = model.embed_target.weight
    spec.scale_embeddings = model.embed_target.scale
    spec.position_encodings.encodings = model.target_positions(longest).contiguous()
    spec.projection.weight = model.output_weight()
    if model.output_bias is not None:
        spec.projection.bias = model.output_bias
    for layer_spec, layer in zip(spec.layer, model.decoder, strict=True):
        _fill_attention(layer_spec.self_attention, layer.self_attention, layer.self_sublayer)
        _fill_attention(layer_spec.attention, layer.cross_attention, layer.cross_sublayer)
        _fill_feed_forward(layer_spec.ffn, layer.feed_forward, layer.feed_sublayer)
    if isinstance(model.decoder_norm, nn.LayerNorm):
        _fill_norm(spec.layer_norm, model.decoder_norm)


def _fill_attention(spec: Any, attention: MultiHeadAttention, sublayer: Sublayer) -> None:
    """Join projections as the library does: queries, keys and values of self-attention; else keys and values.

    It wants heads that are equally wide everywhere: the narrower ones get zeros, which change no product and no output.
    """
    heads = attention.n_heads
    d_k = attention.project_key.out_features // heads
    width = max(d_k, attention.project_value.out_features // heads)
    query, key, value = (
        _widen(linear, heads, width)
        for linear in (attention.project_query, attention.project_key, attention.project_value)
    )
    joined = [[query, key, value]] if len(spec.linear) == 2 else [[query], [key, value]]
    for linear_spec, parts in zip(spec.linear[:-1], joined, strict=True):
        linear_spec.weight = torch.cat([weight for weight, _ in parts])
        biases = [bias for _, bias in parts if bias is not None]
        if biases:
            linear_spec.bias = torch.cat(biases)
    out = attention.project_out
    by_head = out.weight.unflatten(1, (heads, -1))  # [D H d_v]
    spec.linear[-1].weight = nn.functional.pad(by_head, (0, width - by_head.shape[2])).flatten(1)
    if out.bias is not None:
        spec.linear[-1].bias = out.bias
    spec.queries_scale = d_k**-0.5
    _fill_norm(spec.layer_norm, sublayer.norm)


def _widen(linear: nn.Linear, heads: int, width: int) -> tuple[Tensor, Tensor | None]:
    """Return weight and bias of a projection into heads, each head filled up with zeros to `width` rows."""
    by_head = linear.weight.unflatten(0, (heads, -1))  # [H E D]
    missing = width - by_head.shape[1]
    weight = nn.functional.pad(by_head, (0, 0, 0, missing)).flatten(0, 1)
    if linear.bias is None:
        return weight, None
    return weight, nn.functional.pad(linear.bias.unflatten(0, (heads, -1)), (0, missing)).flatten()


def _fill_feed_forward(spec: Any, feed_forward: Any, sublayer: Sublayer) -> None:
    for linear_spec, linear in ((spec.linear_0, feed_forward.widen), (spec.linear_1, feed_forward.narrow)):
        linear_spec.weight, linear_spec.bias = linear.weight, linear.bias
    _fill_norm(spec.layer_norm, sublayer.norm)


def _fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = norm.weight, norm.bias
