"""One label for a whole source: an encoder of its words, a pooling that makes one vector of them, and a hidden layer.

Knows no label as text. B sentences, S source length with EOS, D d_model, V target vocabulary.
"""

from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.attention import Mask
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.layers.mix import LayerMix
from heedful.models.asking import Asking, HardReading, OneQuery
from heedful.models.classifier_config import ClassifierConfig
from heedful.models.directional import DirectionalEncoder
from heedful.models.encoders import Encoder, RecurrentEncoder, pre_norm_encoder
from heedful.models.interface import Answer, Answerer
from heedful.models.poolings import (
    Keywords,
    Last,
    Max,
    Mean,
    Places,
    SentencePooling,
    Sentences,
    SourceToTokenPooling,
    Structured,
)
from heedful.models.recording import check_evaluating, record
from heedful.models.reinforce import MovingBaseline, reinforce
from heedful.text.vocabulary import EOS
from heedful.trace import Map


@final
class Classifier(Answerer):
    """p(y | x) = softmax(V relu(W pool(encode(x)) + b)).

    Every pooling reads words: the real tokens without EOS, which also ends parts of a source. Of a source without
    words, its EOS is read.
    """

    def __init__(self, config: ClassifierConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.embed = Embedding(source_size, config.d_model, scaled=True)
        self.dropout = Dropout(config.dropout)
        self.encoder = build_encoder(config)
        self.mix = LayerMix(config.n_layers) if config.layer_mix else None
        width = config.d_model if self.encoder is None else self.encoder.width
        self.pooling = build_pooling(config, width)
        self.hidden = nn.Linear(self.pooling.width, config.d_model)
        self.output = nn.Linear(config.d_model, target_size)
        sampled = config.pooling == "hard" and config.reward_baseline
        self.baseline = MovingBaseline() if sampled else None

    def answer(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], maps: list[Map] | None = None) -> Answer:
        check_evaluating(self, maps)
        embedded = self.dropout(self.embed(src))
        words = readable(src, src_mask)
        read = self.pooling(Sentences(src, embedded, self._encode(embedded, src_mask, maps), words))
        record(maps, "reader.0.read", read.weights, Mask.key_padding(words))
        hidden = self.dropout(torch.relu(self.hidden(self.dropout(read.vector))))
        one_place = torch.ones_like(words[:, :1])
        return Answer(self.output(hidden)[:, None], one_place, read.penalty, read.drawn)

    def places(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.ones_like(n_source)

    def added_loss(self, answer: Answer, nll: Float[Tensor, " B"]) -> Float[Tensor, " B"] | None:
        """The penalty, and where places were drawn, what teaches to draw them; this moves the reward's baseline."""
        if answer.drawn is None:
            return answer.penalty
        baseline = 0.0 if self.baseline is None else self.baseline(-nll)
        added = reinforce(-nll, answer.drawn.log_p, baseline)
        return added if answer.penalty is None else added + answer.penalty

    def _encode(
        self, x: Float[Tensor, "B S D"], src_mask: Bool[Tensor, "B S"], maps: list[Map] | None
    ) -> Float[Tensor, "B S W"]:
        if self.encoder is None:
            return x
        layers = self.encoder(x, src_mask, maps)
        return layers[-1] if self.mix is None else self.mix(torch.stack(layers))


def readable(src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Bool[Tensor, "B S"]:
    """The real tokens but EOS; where there are none, EOS."""
    words = src_mask & (src != EOS)
    return torch.where(words.any(dim=1, keepdim=True), words, src_mask)


def build_encoder(config: ClassifierConfig) -> Encoder | None:
    """What reads the words in their context; None reads each by itself."""
    match config.encoder:
        case "none":
            return None
        case "rnn":
            return RecurrentEncoder(
                config.d_model, config.d_hidden, config.cell, config.n_layers, dropout=config.dropout
            )
        case "transformer":
            return pre_norm_encoder(config.d_model, config.n_heads, config.n_layers, config.dropout)
        case "disan" | "disan-scalar":
            weighing = "features" if config.encoder == "disan" else "words"
            return DirectionalEncoder(config.d_model, weighing, config.max_scores, config.dropout)


def build_pooling(config: ClassifierConfig, width: int) -> SentencePooling:
    """What makes one vector of a sentence whose words have vectors of this width."""
    match config.pooling:
        case "mean":
            return Mean(width)
        case "max":
            return Max(width)
        case "last":
            return Last(width, recurrent=config.encoder == "rnn")
        case "structured":
            return Structured(width, config.d_attention, config.rows, config.overlap_weight)
        case "keywords":
            return Keywords(width, config.d_attention, config.n_words)
        case "first-n":
            return Places(width, config.n_words, "first")
        case "random-n":
            return Places(width, config.n_words, "random")
        case "source2token":
            return SourceToTokenPooling(width)
        case "attention" | "hard":
            return _one_query(config, width)


def _one_query(config: ClassifierConfig, width: int) -> OneQuery:
    asking = Asking(width, config.d_attention, config.query)
    read = width if config.reads == "encoded" else config.d_model
    if config.pooling == "attention":
        return OneQuery(asking, read, config.reads)
    return HardReading(
        asking,
        read,
        config.reads,
        test_policy=config.test_policy,
        expected_share=config.expected_share,
        entropy_weight=config.entropy_weight,
    )
