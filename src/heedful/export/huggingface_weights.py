"""The weights of a model under the names and in the layout of Hugging Face's Marian family, and back.

Three classes of transformers are one architecture with different norms and positions: MarianMTModel (post-norm, fixed
sinusoids), PegasusForConditionalGeneration (pre-norm, fixed positions), and BlenderbotForConditionalGeneration
(pre-norm, learned positions). Knows no file and no tokeniser.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.layers.position import sinusoids
from heedful.models.transformer_config import TransformerConfig
from heedful.text.vocabulary import SPECIALS

NORM_EPSILON = 1e-5  # of every norm in the three classes, which have no setting for it
IMPOSSIBLE = -1e9  # added to the logit of a symbol that is no output: its probability is exactly 0

ENCODER = {
    "self_attention": "self_attn",
    "self_sublayer.norm": "self_attn_layer_norm",
    "feed_forward.widen": "fc1",
    "feed_forward.narrow": "fc2",
    "feed_sublayer.norm": "final_layer_norm",
}
DECODER = {**ENCODER, "cross_attention": "encoder_attn", "cross_sublayer.norm": "encoder_attn_layer_norm"}
PROJECTIONS = {"project_query": "q_proj", "project_key": "k_proj", "project_value": "v_proj", "project_out": "out_proj"}
STACKS = {"encoder": ENCODER, "decoder": DECODER}


class Layout(NamedTuple):
    """Layout of vectors in the exported model, relative to ours."""

    axis: Int[Tensor, " D"]  # its column i is our column axis[i]
    scale: float  # its residual stream is ours times this


def family(config: TransformerConfig) -> str:
    """Return the `model_type` whose class computes what the model does (for models without `refusals`)."""
    if config.norm == "post":
        return "marian"
    return "blenderbot" if config.positions == "learned" else "pegasus"


def layout(config: TransformerConfig) -> Layout:
    """Return the layout: interleaved sinusoids become [sin | cos], and a pre-norm residual stream is scaled to the
    fixed epsilon.

    A norm divides by sqrt(var(x) + epsilon). That of c x with epsilon c^2 is that of x with epsilon, and a pre-norm
    residual stream is read through norms only, so that c = sqrt(1e-5 / epsilon) makes another epsilon 1e-5 exactly.
    """
    scale = (NORM_EPSILON / config.norm_epsilon) ** 0.5 if config.norm == "pre" else 1.0
    return Layout(sinusoid_axis(config.d_model, config.positions == "sinusoidal"), scale)


def sinusoid_axis(d_model: int, interleaved: bool) -> Int[Tensor, " D"]:
    """Return the columns of [sin | cos] in the order of interleaved sinusoids; the columns as they are for other
    positions.
    """
    columns = torch.arange(d_model)
    return torch.cat([columns[0::2], columns[1::2]]) if interleaved else columns


def layer_names(config: TransformerConfig) -> dict[str, str]:
    """Map our names of the modules in the layers to theirs."""
    names: dict[str, str] = {}
    for stack, count in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        for number in range(count):
            for ours, theirs in STACKS[stack].items():
                parts = PROJECTIONS.items() if ours.endswith("attention") else [("", "")]
                for part, their_part in parts:
                    left, right = f"{stack}.{number}.{ours}", f"model.{stack}.layers.{number}.{theirs}"
                    names[f"{left}.{part}".rstrip(".")] = f"{right}.{their_part}".rstrip(".")
    return names


def exported_weights(
    config: TransformerConfig, weights: Mapping[str, Tensor], n_positions: int, union: bool
) -> dict[str, Tensor]:
    """Collect all tensors of the checkpoint. With `union`, one vocabulary holds the target's symbols, then the
    source's.

    `n_positions` is the length of the position table, where the class stores one.
    """
    how = layout(config)
    tensors = _matrices(config, weights, how, union)
    for ours, theirs in layer_names(config).items():
        tensors |= _module(config, weights, ours, theirs, how)
    if config.norm == "pre":
        for stack in STACKS:
            inverse = 1 / how.scale if stack == "decoder" else 1.0  # the output matrix is the scaled embedding
            for part in ("weight", "bias"):
                norm = weights[f"{stack}_norm.{part}"][how.axis] * inverse
                tensors[f"model.{stack}.layer_norm.{part}"] = norm
            tensors[f"model.{stack}.embed_positions.weight"] = _positions(config, weights, stack, n_positions, how)
    return {name: tensor.contiguous().clone() for name, tensor in tensors.items()}


def _matrices(config: TransformerConfig, weights: Mapping[str, Tensor], how: Layout, union: bool) -> dict[str, Tensor]:
    """Collect embeddings, output matrix and output bias."""
    target = weights["embed_target.weight"]
    embedding = torch.cat([target, weights["embed_source.weight"]]) if union else target
    embedding = embedding[:, how.axis] * how.scale
    n_symbols = len(embedding)
    bias = torch.zeros(1, n_symbols)
    bias[:, len(target) :] = IMPOSSIBLE
    if "output_bias" in weights:
        bias[0, : len(target)] = weights["output_bias"]
    tensors = {"model.shared.weight": embedding, "final_logits_bias": bias}
    if config.tie == "none":
        output = torch.zeros(n_symbols, config.d_model)
        output[: len(target)] = weights["output.weight"][:, how.axis] * how.scale
        tensors |= {
            "lm_head.weight": output,
            "model.encoder.embed_tokens.weight": embedding,
            "model.decoder.embed_tokens.weight": embedding,
        }
    return tensors


def _module(
    config: TransformerConfig, weights: Mapping[str, Tensor], ours: str, theirs: str, how: Layout
) -> dict[str, Tensor]:
    """Return weight and bias of one module in a layer."""
    weight = weights[f"{ours}.weight"]
    bias = weights.get(f"{ours}.bias")
    if bias is None:
        bias = weight.new_zeros(len(weight))
    if weight.dim() == 1:  # a norm
        return {f"{theirs}.weight": weight[how.axis], f"{theirs}.bias": bias[how.axis]}
    heads, width = config.n_heads, config.d_model // config.n_heads
    last = ours.rpartition(".")[2]
    if last in ("project_query", "project_key"):  # scores are divided by sqrt(width), not by sqrt(d_k)
        wider = (width / config.head_key_width) ** 0.25
        weight, bias = (_padded(part * wider, heads, config.head_key_width, width) for part in (weight, bias))
    elif last == "project_value":
        weight, bias = (_padded(part, heads, config.head_value_width, width) for part in (weight, bias))
    elif last == "project_out":
        weight = _padded(weight.T, heads, config.head_value_width, width).T
    if last in ("project_out", "narrow"):  # writes to the residual stream
        return {f"{theirs}.weight": weight[how.axis] * how.scale, f"{theirs}.bias": bias[how.axis] * how.scale}
    return {f"{theirs}.weight": weight[:, how.axis], f"{theirs}.bias": bias}


def _padded(rows: Float[Tensor, "HE *D"], heads: int, width: int, wanted: int) -> Float[Tensor, "HW *D"]:
    """Pad with zeros after the `width` rows of each head, so that it has `wanted`."""
    if width == wanted:
        return rows
    padded = rows.new_zeros(heads, wanted, *rows.shape[1:])
    padded[:, :width] = rows.view(heads, width, *rows.shape[1:])
    return padded.flatten(0, 1)


def _positions(
    config: TransformerConfig, weights: Mapping[str, Tensor], stack: str, n_positions: int, how: Layout
) -> Float[Tensor, "L D"]:
    if config.positions == "learned":
        side = {"encoder": "source", "decoder": "target"}[stack]
        table = weights[f"{side}_positions.weight"]
    else:
        table = sinusoids(n_positions, config.d_model, "t2t" if config.positions == "t2t" else "sinusoidal")
    return table[:, how.axis] * how.scale


def imported_weights(
    config: TransformerConfig, theirs: Mapping[str, Tensor], source_ids: Sequence[int], target_ids: Sequence[int]
) -> dict[str, Tensor]:
    """Map a MarianMTModel's weights to our names: sinusoids interleaved, symbols renumbered.

    `source_ids` and `target_ids` have for each of our ids the one there. A symbol that stands twice, such as a pad
    symbol that is also BOS, is an output only once. Raises KeyError where a tensor is missing.
    """
    axis = sinusoid_axis(config.d_model, interleaved=True).argsort()
    embedding = _embedding(theirs, "decoder")
    tensors = {"embed_target.weight": embedding[list(target_ids)][:, axis]}
    if config.tie != "all":
        tensors["embed_source.weight"] = _embedding(theirs, "encoder")[list(source_ids)][:, axis]
    if config.tie == "none":
        tensors["output.weight"] = theirs["lm_head.weight"][list(target_ids)][:, axis]
    bias = theirs.get("final_logits_bias", torch.zeros(1, len(embedding)))[0, list(target_ids)]
    again = [index in target_ids[:place] for place, index in enumerate(target_ids[: len(SPECIALS)])]
    bias[: len(SPECIALS)][torch.tensor(again)] = IMPOSSIBLE
    tensors["output_bias"] = bias
    for ours, name in layer_names(config).items():
        weight, bias = theirs[f"{name}.weight"], theirs[f"{name}.bias"]
        if weight.dim() == 1 or ours.endswith(("project_out", "narrow")):  # a norm, or writes to the residual stream
            weight, bias = weight[axis], bias[axis]
        else:
            weight = weight[:, axis]
        tensors |= {f"{ours}.weight": weight, f"{ours}.bias": bias}
    return {name: tensor.float().contiguous() for name, tensor in tensors.items()}


def _embedding(theirs: Mapping[str, Tensor], stack: str) -> Float[Tensor, "V D"]:
    """Return the stack's own matrix, or the one that is stored once for both."""
    own = f"model.{stack}.embed_tokens.weight"
    return theirs[own] if own in theirs else theirs["model.shared.weight"]
