"""fairseq's SequenceGenerator on the same weights: a pre-norm Transformer whose learned positions are our sinusoids."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import torch
from decode_clock import EOS, EXTRA, asked, report, tokenizers_of
from fairseq_parts import PAD, SequenceGenerator, build, dictionary_of, to_fairseq
from safetensors.torch import load_file

found = asked()
torch.set_num_threads(found.threads)
tokenizers = tokenizers_of(found)
ours = load_file(Path(found.bundle) / "model.safetensors")
vocabulary, d_model = ours["embed_target.weight"].shape
renumber = to_fairseq(vocabulary)
back = renumber.argsort()
NAMES = {
    "self_attn": "self_attention",
    "encoder_attn": "cross_attention",
    "self_attn_layer_norm": "self_sublayer.norm",
    "encoder_attn_layer_norm": "cross_sublayer.norm",
    "final_layer_norm": "feed_sublayer.norm",
    "fc1": "feed_forward.widen",
    "fc2": "feed_forward.narrow",
}
PROJECTIONS = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"}


def layer_weights(ours_prefix: str, theirs_prefix: str, attentions: Sequence[str]) -> dict[str, torch.Tensor]:
    """One layer under fairseq's names; its attentions have biases, ours have none: zeros."""
    weights = {}
    for attention in attentions:
        for theirs, mine in PROJECTIONS.items():
            weight = ours[f"{ours_prefix}.{NAMES[attention]}.project_{mine}.weight"]
            weights[f"{theirs_prefix}.{attention}.{theirs}.weight"] = weight
            weights[f"{theirs_prefix}.{attention}.{theirs}.bias"] = torch.zeros(len(weight))
    for theirs in ("fc1", "fc2", "final_layer_norm", *(f"{attention}_layer_norm" for attention in attentions)):
        for kind in ("weight", "bias"):
            weights[f"{theirs_prefix}.{theirs}.{kind}"] = ours[f"{ours_prefix}.{NAMES[theirs]}.{kind}"]
    return weights


def fast_path(theirs_prefix: str, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The copies that fairseq's encoder keeps for its fused kernel."""
    own = {
        f"{theirs_prefix}.{name}_{k}": weights[f"{theirs_prefix}.{name}.{k}"] for name in ("fc1", "fc2") for k in KINDS
    }
    for kind in KINDS:
        parts = [weights[f"{theirs_prefix}.self_attn.{name}.{kind}"] for name in ("q_proj", "k_proj", "v_proj")]
        own[f"{theirs_prefix}.in_proj_{kind}"] = torch.cat(parts)
        own[f"{theirs_prefix}.out_proj_{kind}"] = weights[f"{theirs_prefix}.self_attn.out_proj.{kind}"]
    return own


KINDS = ("weight", "bias")
n_layers = 1 + max(int(name.split(".")[1]) for name in ours if name.startswith("encoder."))
sizes = {
    "d_model": d_model,
    "d_ff": len(ours["encoder.0.feed_forward.widen.weight"]),
    "n_layers": n_layers,
    "n_heads": found.options["n_heads"],
    "dropout": 0.0,
}


def as_ours(args: Namespace) -> None:
    """Pre-norm, and positions from a table."""
    args.encoder_normalize_before = args.decoder_normalize_before = True
    args.encoder_learned_pos = args.decoder_learned_pos = True


dictionary = dictionary_of(vocabulary)
model = build(sizes, dictionary, as_ours).eval()
state = {name: value for name, value in model.state_dict().items() if name.endswith("version")}
angles = torch.arange(510)[:, None] * 10000.0 ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()
embedding = torch.empty_like(ours["embed_target.weight"])
embedding[renumber] = ours["embed_target.weight"]
for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
    state[f"{side}.embed_tokens.weight"] = embedding
    state[f"{side}.embed_positions.weight"] = torch.cat([torch.zeros(PAD + 1, d_model), waves])
    for kind in KINDS:
        state[f"{side}.layer_norm.{kind}"] = ours[f"{side}_norm.{kind}"]
    for number in range(n_layers):
        prefix = f"{side}.layers.{number}"
        layer = layer_weights(f"{side}.{number}", prefix, attentions)
        state |= layer | (fast_path(prefix, layer) if side == "encoder" else {})
state["decoder.output_projection.weight"] = embedding
model.load_state_dict(state, strict=True)
generator = SequenceGenerator(
    [model], dictionary, beam_size=found.beam, normalize_scores=False, max_len_a=1, max_len_b=EXTRA
)


@torch.inference_mode()
def translate(lines: Sequence[str]) -> list[str]:
    sources = [renumber[torch.tensor([*tokenizers.source.encode(line), EOS])] for line in lines]
    batch = torch.nn.utils.rnn.pad_sequence(sources, batch_first=True, padding_value=PAD)
    lengths = torch.tensor([len(source) for source in sources])
    sample = {"net_input": {"src_tokens": batch, "src_lengths": lengths}}
    results = generator.generate([model], sample, bos_token=dictionary.bos())
    ids = (back[result[0]["tokens"]].tolist() for result in results)
    return [tokenizers.target.decode([number for number in numbers if number != EOS]) for numbers in ids]


report(found, translate)
