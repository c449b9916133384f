"""One label for a whole source: an encoder of its words, a pooling that makes one vector of them, and a hidden layer.

Knows no label as text. B sentences, S source length with EOS, D d_model, V target vocabulary.
"""

from collections.abc import Callable
from typing import TypeVar, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.attention import Mask
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.layers.mix import LayerMix
from heedful.models.classifier_config import ClassifierConfig, SourceClassifierConfig
from heedful.models.encoders import Encoder, RecurrentEncoder, pre_norm_encoder
from heedful.models.interface import EncoderOnly, Prediction
from heedful.models.poolings import EncodedSentences, Last, Max, Mean, SentencePooling
from heedful.models.recording import record
from heedful.text.vocabulary import EOS

C = TypeVar("C", bound=SourceClassifierConfig)


@final
class Classifier(EncoderOnly):
    """p(y | x) = softmax(V relu(W pool(encode(x)) + b)).

    Every pooling reads words: the real tokens without EOS, which also ends parts of a source. Of a source without
    words, its EOS is read.
    """

    def __init__(
        self,
        embed: Embedding,
        encoder: Encoder | None,
        mix: LayerMix | None,
        pooling: SentencePooling,
        *,
        target_size: int,
        dropout: float,
    ) -> None:
        """Build the classifier: `mix` joins all layers of the encoder; without an encoder each word is read alone."""
        super().__init__()
        d_model = embed.weight.shape[1]
        self.embed, self.dropout, self.encoder, self.mix, self.pooling = embed, Dropout(dropout), encoder, mix, pooling
        self.hidden = nn.Linear(pooling.width, d_model)
        self.output = nn.Linear(d_model, target_size)

    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        embedded = self.dropout(self.embed(src))
        words = readable(src, src_mask)
        read = self.pooling(EncodedSentences(src, embedded, self._encode(embedded, src_mask), words))
        record("reader.0.read", read.weights, Mask.key_padding(words))
        hidden = self.dropout(torch.relu(self.hidden(self.dropout(read.vector))))
        one_place = torch.ones_like(words[:, :1])
        return Prediction(self.output(hidden)[:, None], one_place, read.penalty, read.drawn)

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.ones_like(n_source)

    def added_loss(self, answer: Prediction, nll: Float[Tensor, " B"]) -> Float[Tensor, " B"] | None:
        """Return what the pooling adds."""
        return self.pooling.added_loss(answer, nll)

    def _encode(self, x: Float[Tensor, "B S D"], src_mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S W"]:
        if self.encoder is None:
            return x
        layers = self.encoder(x, src_mask)
        return layers[-1] if self.mix is None else self.mix(torch.stack(layers))


def readable(src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Bool[Tensor, "B S"]:
    """Mark the real tokens but EOS; where there are none, EOS."""
    words = src_mask & (src != EOS)
    return torch.where(words.any(dim=1, keepdim=True), words, src_mask)


def build_classifier(config: ClassifierConfig, source_size: int, target_size: int) -> Classifier:
    """Build the network of these settings."""
    return assemble(config, source_size, target_size, build_encoder, build_pooling)


def assemble(
    config: C,
    source_size: int,
    target_size: int,
    encoder_of: Callable[[C], Encoder | None],
    pooling_of: Callable[[C, int], SentencePooling],
) -> Classifier:
    """Build a classifier. `pooling_of` gets the width of what it reads: the encoder's, or that of embeddings."""
    embed = Embedding(source_size, config.d_model, scaled=True)
    encoder = encoder_of(config)
    mix = LayerMix(config.n_layers) if config.layer_mix else None
    pooling = pooling_of(config, config.d_model if encoder is None else encoder.width)
    return Classifier(embed, encoder, mix, pooling, target_size=target_size, dropout=config.dropout)


def build_encoder(config: SourceClassifierConfig) -> Encoder | None:
    """Build what reads the words in their context; None reads each by itself."""
    match config.encoder:
        case "none":
            return None
        case "rnn":
            width, cell, n_layers = config.d_hidden, config.cell, config.n_layers
            return RecurrentEncoder(config.d_model, width, cell, n_layers, dropout=config.dropout)
        case "transformer":
            return pre_norm_encoder(config.d_model, config.n_heads, config.n_layers, config.dropout)
        case unknown:
            raise ValueError(f"`encoder` must be that of a classifier, but is {unknown!r}.")


def build_pooling(config: SourceClassifierConfig, width: int) -> SentencePooling:
    """Build what makes one vector of words whose vectors have this width."""
    match config.pooling:
        case "mean":
            return Mean(width)
        case "max":
            return Max(width)
        case "last":
            return Last(width, recurrent=config.encoder == "rnn")
        case unknown:
            raise ValueError(f"`pooling` must be that of a classifier, but is {unknown!r}.")
