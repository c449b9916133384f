"""From the vectors of a sentence's words to one vector: by several rows of attention, by the heaviest words, by
positions, by a weight for each feature.

Knows no label and no loss. Shapes: B sentences, S tokens, W width of a token's vector, C width of what is made.
"""

import random
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention import GatherTop, Mask, Pooling, SourceToToken, attend, elementwise, overlap_penalty
from heedful.attention.normalise import Normaliser, softmax
from heedful.models.poolings import EncodedSentences, PooledVector, SentencePooling


@final
class StructuredPooling(SentencePooling):
    """A = softmax(W_2 tanh(W_1 H^T)) of r rows, M = A H, and the penalty |A A^T - I|^2. [Lin 2017, Eq. 5, 6, 8]"""

    def __init__(self, width: int, d_attention: int, rows: int, overlap_weight: float) -> None:
        super().__init__()
        self.width = rows * width
        self.overlap_weight = overlap_weight
        self.pool = Pooling(width, d_attention, rows, bias=False)

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        vectors, weights = self.pool(sentences.encoded, Mask.key_padding(sentences.words))
        penalty = self.overlap_weight * overlap_penalty(weights) if self.overlap_weight else None
        return PooledVector(vectors.flatten(1), weights[:, :, None], penalty)


@final
class FlooredSoftmax(Normaliser):
    """Softmax, but no weight of a word that may be seen is less than `floor`, so small that the sum stays 1."""

    axis = -1

    def __init__(self, floor: float) -> None:
        self.floor = floor

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        weights = softmax(scores, mask)
        floored = weights.clamp(min=self.floor)
        return floored if mask is None else torch.where(mask.visible, floored, weights)


@final
class KeywordPooling(SentencePooling):
    """The n words of the largest weights, largest first, joined as they are; the hidden layer maps them.

    The index of a word has no gradient. Each is multiplied by its weight and divided by the same number without its
    gradient, so that forward nothing is scaled, and backward d log w_i reaches the scores of the chosen words, and of
    all others through the softmax, however small a weight has become. Those not chosen count, and are shown, as 0.
    """

    FLOOR = 1e-20  # the least weight of a word: one that is 0 in float32 would lose the word

    def __init__(self, width: int, d_attention: int, n_words: int) -> None:
        super().__init__()
        self.width = n_words * width
        self.n_words = n_words
        self.pool = Pooling(width, d_attention, normalise=FlooredSoftmax(self.FLOOR), aggregate=GatherTop(n_words))

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        vectors, weights = self.pool(sentences.encoded, Mask.key_padding(sentences.words))
        chosen = weights.argsort(dim=-1, descending=True, stable=True)[..., : self.n_words]  # [B 1 n]
        scale = weights.gather(-1, chosen)
        kept = torch.zeros_like(weights).scatter(-1, chosen, scale)
        divisor = scale.detach().clamp(min=torch.finfo(scale.dtype).tiny)
        divisor = nn.functional.pad(divisor, (0, self.n_words - chosen.shape[-1]), value=1.0)
        unscaled = vectors.unflatten(-1, (self.n_words, -1)) / divisor[..., None]
        return PooledVector(unscaled.flatten(1), kept[:, :, None])


@final
class PositionPooling(SentencePooling):
    """The first n words, or n `random` ones, in their order, joined: what choosing by weight has to beat.

    Random positions are a function of the words alone, so that a sentence always has the same ones.
    """

    def __init__(self, width: int, n_words: int, choice: Literal["first", "random"]) -> None:
        super().__init__()
        self.width = n_words * width
        self.n_words, self.choice = n_words, choice
        self.gather = GatherTop(n_words)

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        chosen = torch.zeros_like(sentences.words)
        rows = zip(sentences.tokens.tolist(), sentences.words.tolist(), strict=True)
        for row, (tokens, words) in enumerate(rows):
            positions = [position for position, word in enumerate(words) if word]
            if self.choice == "random" and len(positions) > self.n_words:
                positions = random.Random(repr([tokens[position] for position in positions])).sample(
                    positions, self.n_words
                )
            chosen[row, positions[: self.n_words]] = True
        weights = chosen.to(sentences.encoded.dtype)[:, None, None]  # [B 1 1 S]
        return PooledVector(self.gather(weights, sentences.encoded[:, None])[:, 0, 0], weights)


@final
class SourceToTokenPooling(SentencePooling):
    """s = sum_i P_i * x_i, a weight for each feature of each word. [Shen 2018, 3.2] Their mean is shown."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.score = SourceToToken(width)

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        x = sentences.encoded[:, None]
        slots = {"score": self.score, "mask": Mask.key_padding(sentences.words), "aggregate": elementwise}
        read = attend(x[:, :, :1], x, x, **slots)
        assert read.weights is not None
        return PooledVector(read.context[:, 0, 0], read.weights.mean(dim=1, keepdim=True))
