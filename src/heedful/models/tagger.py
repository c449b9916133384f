"""One label for each word: synchronous tagging by a recurrent network or a Transformer encoder.

Knows no tags as text, no loss. B sentences, S source length with EOS, H width of the encoder, V target vocabulary.
"""

from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.layers.mix import LayerMix
from heedful.models.encoders import Encoder, RecurrentEncoder, WordsAlone, pre_norm_encoder
from heedful.models.interface import EncoderOnly, Prediction
from heedful.models.tagger_config import TaggerConfig


@final
class Tagger(EncoderOnly):
    """p(y_s | x) = softmax(W h_s + b), h from an encoder of the whole sentence. [Graves 2005; Vaswani 2017, 3.1]

    With `layer_mix`, h is a learned mix of all layers instead of the last one. [Peters 2018, Eq. 1]
    """

    def __init__(self, config: TaggerConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.embed = Embedding(source_size, config.d_model, scaled=True)
        self.dropout = Dropout(config.dropout)
        self.encoder = _encoder(config)
        self.mix = LayerMix(config.n_layers) if config.layer_mix else None
        self.output = nn.Linear(self.encoder.width, target_size)

    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        layers = self.encoder(self.dropout(self.embed(src)), src_mask)
        words = src_mask[:, 1:]  # a position is a word if a real token follows: the last one is EOS
        return Prediction(self.output(self.dropout(self._read(layers)[:, :-1])), words)

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return n_source

    def _read(self, layers: list[Float[Tensor, "B S H"]]) -> Float[Tensor, "B S H"]:
        if self.mix is None:
            return layers[-1]
        return self.mix(torch.stack(layers))


def _encoder(config: TaggerConfig) -> Encoder:
    if config.encoder == "none":
        return WordsAlone(config.d_model, config.n_layers)
    if config.encoder == "transformer":
        return pre_norm_encoder(config.d_model, config.n_heads, config.n_layers, config.dropout)
    return RecurrentEncoder(
        config.d_model,
        config.d_hidden,
        config.encoder,
        config.n_layers,
        bidirectional=config.bidirectional,
        dropout=config.dropout,
    )
