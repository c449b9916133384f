"""Hierarchical attention: words make sentences, sentences make a document, and each time what matters is read most.

Knows no words as text and no labels. A sentence ends at an EOS. B documents, S tokens, N sentences of at most W words,
D d_model, H d_hidden, V labels.
"""

from abc import ABC, abstractmethod
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.attention import Mask, Pooled, Pooling, attend, dot
from heedful.gallery.hierarchical.config import HierarchicalConfig
from heedful.gallery.layers.source_parts import SourceParts, parts_of
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.layers.masked_pooling import masked_mean
from heedful.models.encoders import RecurrentEncoder
from heedful.models.interface import EncoderOnly, Prediction
from heedful.models.recording import is_recording, record


class DocumentEncoder(nn.Module, ABC):
    """From the embedded words of documents to one vector each."""

    @abstractmethod
    def forward(
        self, embedded: Float[Tensor, "B S D"], src_mask: Bool[Tensor, "B S"], parts: SourceParts
    ) -> Float[Tensor, "B H"]:
        """Compute the vectors. The weights of the first document are recorded."""


@final
class FirstSentenceQuery(nn.Module):
    """softmax_i((W_q h_1 + b_q) . tanh(W h_i + b)): the first sentence asks, in place of a learned constant.

    No part of the paper: for documents whose first sentence says what they are about.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden)
        self.query = nn.Linear(width, hidden)

    def forward(self, h: Float[Tensor, "B N H"], mask: Mask) -> Pooled:
        query = self.query(h[:, None, :1])  # [B 1 1 A]
        vectors, weights = attend(query, torch.tanh(self.inner(h))[:, None], h[:, None], score=dot, mask=mask)
        assert weights is not None
        return Pooled(vectors[:, 0], weights[:, 0])


@final
class SentenceWise(DocumentEncoder):
    """h_it of a GRU over the words of sentence i, s_i = sum_t alpha_it h_it; h_i of a GRU over the s_i, v = sum_i
    alpha_i h_i; both alpha from a learned constant query. [Yang 2016, 2.2]

    A sentence without words is left out, as if it were not there.
    """

    def __init__(self, config: HierarchicalConfig) -> None:
        super().__init__()
        self.words = RecurrentEncoder(config.d_model, config.d_hidden)
        self.word_attention = Pooling(config.d_hidden, config.d_attention)
        self.dropout = Dropout(config.dropout)
        self.sentences = RecurrentEncoder(config.d_hidden, config.d_hidden)
        pooling = {"constant": Pooling, "first": FirstSentenceQuery}[config.query]
        self.sentence_attention = pooling(config.d_hidden, config.d_attention)

    def forward(
        self, embedded: Float[Tensor, "B S D"], src_mask: Bool[Tensor, "B S"], parts: SourceParts
    ) -> Float[Tensor, "B H"]:
        parts = parts.filled()
        batch, n_sentences, _ = parts.mask.shape
        mask = parts.mask.flatten(0, 1)  # [B*N W]
        words = self.words(parts.gather(embedded).flatten(0, 1), mask)[-1]  # [B*N W H]
        read = self.word_attention(words, Mask.key_padding(mask))
        vectors = self.dropout(read.vectors[:, 0].unflatten(0, (batch, n_sentences)))  # [B N H]
        sentences = self.sentences(vectors, parts.real)[-1]
        document = self.sentence_attention(sentences, Mask.key_padding(parts.real))
        if is_recording():
            self._record(parts, read.weights.view(batch, n_sentences, -1), document.weights[:, 0], src_mask)
        return document.vectors[:, 0]

    def _record(self, parts: SourceParts, words: Tensor, sentences: Tensor, src_mask: Tensor) -> None:
        """Record the weights of words at the words, those of sentences at the EOS that ends each."""
        length = src_mask.shape[1]
        at_words = parts.spread_words(parts.mask.to(words.dtype), length) > 0
        at_ends = parts.spread_ends(parts.real.to(words.dtype), length) > 0
        record("reader.0.read", parts.spread_words(words, length)[:, None, None], Mask.key_padding(at_words))
        record("reader.1.read", parts.spread_ends(sentences, length)[:, None, None], Mask.key_padding(at_ends))


class Flat(DocumentEncoder, ABC):
    """One GRU over all words of a document, which sees where sentences end, and a vector of its states at words."""

    def __init__(self, config: HierarchicalConfig) -> None:
        super().__init__()
        self.words = RecurrentEncoder(config.d_model, config.d_hidden)

    def forward(
        self, embedded: Float[Tensor, "B S D"], src_mask: Bool[Tensor, "B S"], parts: SourceParts
    ) -> Float[Tensor, "B H"]:
        at_words = parts.spread_words(parts.mask.to(embedded.dtype), src_mask.shape[1]) > 0
        return self.pool(self.words(embedded, src_mask)[-1], at_words)

    @abstractmethod
    def pool(self, states: Float[Tensor, "B S H"], at_words: Bool[Tensor, "B S"]) -> Float[Tensor, "B H"]:
        """Pool the states to one vector."""


@final
class FlatAttention(Flat):
    """The states, weighted by one attention over all words."""

    def __init__(self, config: HierarchicalConfig) -> None:
        super().__init__(config)
        self.attention = Pooling(config.d_hidden, config.d_attention)

    def pool(self, states: Float[Tensor, "B S H"], at_words: Bool[Tensor, "B S"]) -> Float[Tensor, "B H"]:
        read = self.attention(states, Mask.key_padding(at_words))
        record("reader.0.read", read.weights[:, None], Mask.key_padding(at_words))
        return read.vectors[:, 0]


@final
class FlatMean(Flat):
    """The mean of the states."""

    def pool(self, states: Float[Tensor, "B S H"], at_words: Bool[Tensor, "B S"]) -> Float[Tensor, "B H"]:
        return masked_mean(states, at_words)


READINGS = {"hierarchical": SentenceWise, "flat-attention": FlatAttention, "flat-mean": FlatMean}


@final
class Hierarchical(EncoderOnly):
    """p(y | x) = softmax(W v + b), v the vector of the document. [Yang 2016, Eq. 11]"""

    def __init__(self, config: HierarchicalConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.embed = Embedding(source_size, config.d_model, scaled=True)
        self.dropout = Dropout(config.dropout)
        self.reading = READINGS[config.reading](config)
        self.output = nn.Linear(config.d_hidden, target_size)

    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        embedded = self.dropout(self.embed(src))
        document = self.reading(embedded, src_mask, parts_of(src, src_mask))
        return Prediction(self.output(self.dropout(document))[:, None], torch.ones_like(src_mask[:, :1]))

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.ones_like(n_source)
