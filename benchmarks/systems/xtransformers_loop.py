"""x-transformers' encoder and decoder with flash attention in a plain loop; sinusoids, ReLU and post-norm as elsewhere.

Its wrapper shifts targets by itself and knows no label smoothing, so the decoder is called directly.
"""

from clock import PAD, report, settings
from plain import plain_update
from torch import Tensor, nn
from x_transformers import Decoder, Encoder, TransformerWrapper

sizes = settings()
shared = {
    "dim": sizes["d_model"],
    "depth": sizes["n_layers"],
    "heads": sizes["n_heads"],
    "attn_dim_head": sizes["d_model"] // sizes["n_heads"],
    "attn_flash": True,
    "pre_norm": False,
    "ff_mult": sizes["d_ff"] // sizes["d_model"],
    "ff_custom_activation": nn.ReLU(),
    "ff_sublayer_dropout": sizes["dropout"],
    "attn_sublayer_dropout": sizes["dropout"],
}
around = {
    "num_tokens": sizes["vocabulary"],
    "max_seq_len": 512,
    "scaled_sinu_pos_emb": True,
    "emb_dropout": sizes["dropout"],
}
encoder = TransformerWrapper(**around, attn_layers=Encoder(**shared), return_only_embed=True)
decoder = TransformerWrapper(
    **around, attn_layers=Decoder(**shared, cross_attend=True), tie_embedding=True, tie_embedding_scale=1.0
)
decoder.token_emb = encoder.token_emb
nn.init.normal_(encoder.token_emb.emb.weight, std=sizes["d_model"] ** -0.5)
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["smoothing"])
both = nn.ModuleList([encoder, decoder]).train()


def loss_of(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    mask = src != PAD
    memory = encoder(src, mask=mask, return_embeddings=True)
    logits = decoder(tgt_in, context=memory, context_mask=mask)
    return criterion(logits.flatten(0, 1), tgt_out.flatten())


report(plain_update(loss_of, both.parameters(), sizes, fused=False), sizes)
