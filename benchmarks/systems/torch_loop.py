"""The loop that people write around torch.nn.Transformer, without mistakes: tied embeddings, masks, smoothing, Adam."""

import torch
from clock import PAD, report, settings
from torch import nn

sizes = settings()
d_model, vocabulary = sizes["d_model"], sizes["vocabulary"]
transformer = nn.Transformer(
    d_model,
    sizes["n_heads"],
    sizes["n_layers"],
    sizes["n_layers"],
    sizes["d_ff"],
    sizes["dropout"],
    batch_first=True,
)
embedding = nn.Embedding(vocabulary, d_model, padding_idx=PAD)
dropout = nn.Dropout(sizes["dropout"])
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["smoothing"])
angles = torch.arange(512)[:, None] * 10000.0 ** -(torch.arange(0, d_model, 2) / d_model)
positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
parameters = [*transformer.parameters(), *embedding.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
transformer.train()


def embed(ids: torch.Tensor) -> torch.Tensor:
    return dropout(embedding(ids) * d_model**0.5 + positions[: ids.shape[1]])


def update(src: torch.Tensor, tgt_in: torch.Tensor, tgt_out: torch.Tensor) -> float:
    hidden_keys = src == PAD  # here True hides
    causal = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool).triu(1)
    hidden = transformer(
        embed(src),
        embed(tgt_in),
        tgt_mask=causal,
        src_key_padding_mask=hidden_keys,
        memory_key_padding_mask=hidden_keys,
        tgt_is_causal=True,
    )
    logits = hidden @ embedding.weight.T
    loss = criterion(logits.flatten(0, 1), tgt_out.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    return loss.item()


report(update)
