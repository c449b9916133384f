"""From the vectors of a sentence's words to one vector: their mean, their largest values, or the last one.

Knows no label. Shapes: B sentences, S tokens, W width of a token's vector, C width of what is made.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.attention import weighted_sum
from heedful.layers.masked_pooling import masked_max
from heedful.models.interface import Prediction, Sampling


class EncodedSentences(NamedTuple):
    """Input of a pooling."""

    tokens: Int[Tensor, "B S"]
    embedded: Float[Tensor, "B S D"]  # each word by itself
    encoded: Float[Tensor, "B S W"]  # each word in its context
    words: Bool[Tensor, "B S"]  # True where something is to be read, at least once in each sentence


class PooledVector(NamedTuple):
    """One vector of each sentence, and what it was made with: H rows of weights over the tokens, if there are any."""

    vector: Float[Tensor, "B C"]
    weights: Float[Tensor, "B H 1 S"] | None = None
    penalty: Float[Tensor, " B"] | None = None  # weighted already
    drawn: Sampling | None = None


class SentencePooling(nn.Module, ABC):
    """One vector of `width` from each sentence, whatever its length."""

    width: int

    @abstractmethod
    def forward(self, sentences: EncodedSentences) -> PooledVector:
        """Pool the vectors of words; padding, and whatever is no word, has no part in it."""

    def added_loss(self, prediction: Prediction, nll: Float[Tensor, " B"]) -> Float[Tensor, " B"] | None:
        """Return what training adds to the cross-entropy (`nll`, nats a sentence): the penalty, if there is one."""
        return prediction.penalty


@final
class Mean(SentencePooling):
    """The same weight for each word."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        words = sentences.words
        weights = (words / words.sum(dim=1, keepdim=True)).to(sentences.encoded.dtype)[:, None, None]  # [B 1 1 S]
        return PooledVector(weighted_sum(weights, sentences.encoded[:, None])[:, 0, 0], weights)


@final
class Max(SentencePooling):
    """The largest value of each feature."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        return PooledVector(masked_max(sentences.encoded, sentences.words))


@final
class Last(SentencePooling):
    """The vector of the last word; of a `recurrent` encoder, what each direction knew when it had read all words."""

    def __init__(self, width: int, *, recurrent: bool) -> None:
        super().__init__()
        self.width = width
        self.backward_from = width // 2 if recurrent else width

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        positions = torch.arange(sentences.words.shape[1], device=sentences.words.device)
        last = torch.where(sentences.words, positions, 0).amax(dim=1)
        rows = torch.arange(len(last), device=last.device)
        end, start = sentences.encoded[rows, last], sentences.encoded[:, 0]
        return PooledVector(torch.cat([end[:, : self.backward_from], start[:, self.backward_from :]], dim=1))
