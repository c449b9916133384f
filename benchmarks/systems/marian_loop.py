"""Hugging Face's MarianMTModel in a plain loop, with label smoothing by torch's own criterion."""

import torch
from clock import PAD, report, settings
from torch import nn
from transformers import MarianConfig, MarianMTModel

sizes = settings()
model = MarianMTModel(
    MarianConfig(
        vocab_size=sizes["vocabulary"],
        d_model=sizes["d_model"],
        encoder_layers=sizes["n_layers"],
        decoder_layers=sizes["n_layers"],
        encoder_attention_heads=sizes["n_heads"],
        decoder_attention_heads=sizes["n_heads"],
        encoder_ffn_dim=sizes["d_ff"],
        decoder_ffn_dim=sizes["d_ff"],
        dropout=sizes["dropout"],
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=3,
        bos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=3,
        use_cache=False,
    )
)
model.train()
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["smoothing"])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)


def update(src: torch.Tensor, tgt_in: torch.Tensor, tgt_out: torch.Tensor) -> float:
    logits = model(input_ids=src, attention_mask=(src != PAD).long(), decoder_input_ids=tgt_in).logits
    loss = criterion(logits.flatten(0, 1), tgt_out.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


report(update)
