"""The loop that people write around torch.nn.Transformer, without mistakes: tied embeddings, masks, smoothing, Adam.

argv[3] is "float32"; "bfloat16", the same under autocast; or "trimmed", bfloat16 with logits of real tokens only and
Adam as one fused kernel.
"""

import sys

import torch
from clock import PAD, report, settings
from plain import plain_update
from torch import Tensor, nn

sizes = settings()
kind = sys.argv[3]
d_model = sizes["d_model"]
transformer = nn.Transformer(
    d_model,
    sizes["n_heads"],
    sizes["n_layers"],
    sizes["n_layers"],
    sizes["d_ff"],
    sizes["dropout"],
    batch_first=True,
)
embedding = nn.Embedding(sizes["vocabulary"], d_model, padding_idx=PAD)
nn.init.normal_(embedding.weight, std=d_model**-0.5)
dropout = nn.Dropout(sizes["dropout"])
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["smoothing"])
angles = torch.arange(512)[:, None] * 10000.0 ** -(torch.arange(0, d_model, 2) / d_model)
positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
transformer.train()


def embed(ids: Tensor) -> Tensor:
    return dropout(embedding(ids) * d_model**0.5 + positions[: ids.shape[1]])


def loss_of(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    hidden_keys = src == PAD  # here True hides
    causal = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool).triu(1)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=kind != "float32"):
        hidden = transformer(
            embed(src),
            embed(tgt_in),
            tgt_mask=causal,
            src_key_padding_mask=hidden_keys,
            memory_key_padding_mask=hidden_keys,
            tgt_is_causal=True,
        )
        if kind == "trimmed":
            real = tgt_out != PAD
            hidden, tgt_out = hidden[real], tgt_out[real]
        logits = hidden @ embedding.weight.T
    return criterion(logits.float().flatten(0, -2), tgt_out.flatten())


report(
    plain_update(loss_of, [*transformer.parameters(), *embedding.parameters()], sizes, fused=kind == "trimmed"), sizes
)
