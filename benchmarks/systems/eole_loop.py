"""Eole's encoder-decoder in a plain loop, with label smoothing by torch's own criterion. It is pre-norm only."""

import warnings

warnings.filterwarnings("ignore", category=RuntimeWarning)  # on import it misses its CUDA kernels

from argparse import Namespace  # noqa: E402

from clock import PAD, report, settings  # noqa: E402
from eole.config.models import TransformerModelConfig  # noqa: E402
from eole.constants import DefaultTokens  # noqa: E402
from eole.models.model import EncoderDecoderModel  # noqa: E402
from plain import plain_update  # noqa: E402
from torch import Tensor, nn  # noqa: E402

sizes = settings()
config = TransformerModelConfig(
    layers=sizes["n_layers"],
    hidden_size=sizes["d_model"],
    heads=sizes["n_heads"],
    transformer_ff=sizes["d_ff"],
    add_ffnbias=True,
    share_embeddings=True,
    embeddings={
        "src_word_vec_size": sizes["d_model"],
        "tgt_word_vec_size": sizes["d_model"],
        "position_encoding_type": "SinusoidalInterleaved",
    },
)
ids = {DefaultTokens.PAD: PAD, **{f"t{number}": number for number in range(1, sizes["vocabulary"])}}
running = Namespace(dropout=[sizes["dropout"]], attention_dropout=[0.0])
model = EncoderDecoderModel.build_blocks(config, {"src": ids, "tgt": ids, "specials": {}}, running)
for name, parameter in model.named_parameters():
    if parameter.dim() > 1:
        nn.init.xavier_uniform_(parameter)
    elif name.endswith("bias"):
        nn.init.zeros_(parameter)  # Eole leaves them as the memory was
matrix = model.tgt_emb.embeddings.weight
nn.init.normal_(matrix, std=sizes["d_model"] ** -0.5)
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["smoothing"])
model.train()


def loss_of(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    whole = nn.functional.pad(tgt_in, (0, 1), value=PAD)  # its forward drops the last column
    hidden = model(src, whole, (src != PAD).sum(1)).dec_out
    return criterion((hidden @ matrix.T).flatten(0, 1), tgt_out.flatten())


report(plain_update(loss_of, model.parameters(), sizes, fused=True), sizes)
