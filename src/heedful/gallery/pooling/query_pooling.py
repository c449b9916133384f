"""One query reads a sentence: all of it, softly, or one place of it that is drawn. Knows no label.

Shapes: B sentences, S tokens, D width of a word alone, W of a word in its context.
"""

from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention import (
    Additive,
    Argmax,
    General,
    Mask,
    Normaliser,
    Sample,
    Score,
    attend,
    attend_drawn,
    softmax,
)
from heedful.gallery.pooling.reinforce import MovingBaseline, reinforce
from heedful.models.interface import Prediction, Sampling
from heedful.models.poolings import EncodedSentences, PooledVector, SentencePooling


class PoolingQuery(nn.Module):
    """A query and its score: a constant one, w . tanh(W_q q + W_k h), or the encoding of the first token, q W h."""

    def __init__(self, width: int, d_attention: int, query: Literal["constant", "first"]) -> None:
        super().__init__()
        self.constant = nn.Parameter(torch.randn(width) * width**-0.5) if query == "constant" else None
        self.score: Score = Additive(width, width, d_attention) if query == "constant" else General(width, width)

    def query(self, encoded: Float[Tensor, "B S W"]) -> Float[Tensor, "B 1 1 W"]:
        """Return the query of each sentence."""
        if self.constant is None:
            return encoded[:, None, :1]
        return self.constant.expand(len(encoded), 1, 1, -1)


class QueryPooling(SentencePooling):
    """Pooling by one query; `reads` says whether words in their context or words alone are weighed."""

    def __init__(self, asking: PoolingQuery, width: int, reads: Literal["encoded", "embedded"]) -> None:
        super().__init__()
        self.asking, self.width, self.reads = asking, width, reads

    def slots(self, sentences: EncodedSentences) -> tuple[Tensor, Tensor, Tensor]:
        """Return query, key and value of `attend`."""
        value = sentences.encoded if self.reads == "encoded" else sentences.embedded
        return self.asking.query(sentences.encoded), sentences.encoded[:, None], value[:, None]

    def read(self, sentences: EncodedSentences, normalise: Normaliser) -> PooledVector:
        """Read once with these weights."""
        mask = Mask.key_padding(sentences.words)
        read = attend(*self.slots(sentences), score=self.asking.score, mask=mask, normalise=normalise)
        return PooledVector(read.context[:, 0, 0], read.weights)

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        return self.read(sentences, softmax)


@final
class HardPooling(QueryPooling):
    """Training draws one place of each sentence; outside it the likeliest position is read, or the expected value.
    [Xu 2015, 4.1]

    With probability `expected_share` a training sentence reads the expected value, so nothing is drawn for it. Draws
    come from torch's global generator. The penalty is -lambda_e H, H the entropy of the weights.
    """

    def __init__(
        self,
        asking: PoolingQuery,
        width: int,
        reads: Literal["encoded", "embedded"],
        *,
        test_policy: Literal["argmax", "expected"],
        expected_share: float,
        entropy_weight: float,
        reward_baseline: bool,
    ) -> None:
        super().__init__(asking, width, reads)
        self.outside_training: Normaliser = Argmax() if test_policy == "argmax" else softmax
        self.sample = Sample(None, expected_share)
        self.entropy_weight = entropy_weight
        self.baseline = MovingBaseline() if reward_baseline else None

    def forward(self, sentences: EncodedSentences) -> PooledVector:
        if not self.training:
            return self.read(sentences, self.outside_training)
        mask = Mask.key_padding(sentences.words)
        drawn = attend_drawn(*self.slots(sentences), score=self.asking.score, mask=mask, normalise=self.sample)
        log_p, entropy = drawn.log_p[:, 0, 0], drawn.entropy[:, 0, 0]
        penalty = -self.entropy_weight * entropy if self.entropy_weight else None
        return PooledVector(drawn.context[:, 0, 0], drawn.weights, penalty, Sampling(log_p, entropy))

    def added_loss(self, prediction: Prediction, nll: Float[Tensor, " B"]) -> Float[Tensor, " B"] | None:
        """Return the penalty, and where positions were drawn, what teaches to draw them; this moves the reward's
        baseline.
        """
        if prediction.drawn is None:
            return prediction.penalty
        baseline = 0.0 if self.baseline is None else self.baseline(-nll)
        added = reinforce(-nll, prediction.drawn.log_p, baseline)
        return added if prediction.penalty is None else added + prediction.penalty
