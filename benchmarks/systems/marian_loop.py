"""Hugging Face's MarianMTModel in a plain loop, with torch's own label smoothing and its Trainer's Adam."""

from clock import BOS, EOS, PAD, report, settings
from plain import plain_update
from torch import Tensor, nn
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
        init_std=sizes["d_model"] ** -0.5,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=EOS,
        use_cache=False,
    )
)
model.train()
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["smoothing"])


def loss_of(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    logits = model(input_ids=src, attention_mask=(src != PAD).long(), decoder_input_ids=tgt_in).logits
    return criterion(logits.flatten(0, 1), tgt_out.flatten())


report(plain_update(loss_of, model.parameters(), sizes, fused=True), sizes)
