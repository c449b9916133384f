"""Natural language inference by soft alignment: each word of one side beside what it is aligned to on the other.

Knows no words as text and no labels. A source is a premise and a hypothesis, each ended by an EOS. B pairs, S tokens,
W words of the longer side, D d_model, H d_hidden, V labels.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.attention import Mask
from heedful.errors import HeedfulError
from heedful.gallery.esim.config import InferenceConfig
from heedful.gallery.layers.memory import align_both_ways
from heedful.gallery.layers.source_parts import SourceParts, parts_of
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.layers.masked_pooling import masked_max, masked_mean
from heedful.models.encoders import RecurrentEncoder
from heedful.models.interface import EncoderOnly, Prediction
from heedful.models.recording import is_recording, record
from heedful.text.vocabulary import EOS


@final
class ESIM(EncoderOnly):
    """p(y | a, b) = softmax(MLP([v_a; v_b])), v the mean and the maximum of the composed words of a side.
    [Chen 2017, 3, without syntax trees]

    LSTMs read both sides; each word becomes F([a; a~; a - a~; a * a~]), a~ what it reads of the other side; LSTMs
    compose these. Both sides share all weights.
    """

    def __init__(self, config: InferenceConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        width = config.d_hidden
        self.embed = Embedding(source_size, config.d_model, scaled=True)
        self.dropout = Dropout(config.dropout)
        self.read = RecurrentEncoder(config.d_model, width, "lstm")
        self.project = nn.Linear(4 * width if config.align_both_ways else width, width)
        self.compose = RecurrentEncoder(width, width, "lstm")
        self.hidden = nn.Linear(4 * width, width)
        self.output = nn.Linear(width, target_size)
        self.config = config

    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        """Predict the label. Raises HeedfulError unless each source has two parts."""
        vectors = self.vectors(src, src_mask)
        hidden = torch.tanh(self.hidden(self.dropout(vectors.flatten(1))))
        return Prediction(self.output(self.dropout(hidden))[:, None], torch.ones_like(src_mask[:, :1]))

    def validation_error(self, source: Sequence[int]) -> str | None:
        parts = 1 + sum(token == EOS for token in source)
        return None if parts == 2 else f"a premise and a hypothesis are 2 parts, but here are {parts}"

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.ones_like(n_source)

    def vectors(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B 2 twoH"]:
        """Return v of the premise and of the hypothesis: exchanged where these are."""
        parts = _two_parts(src, src_mask)
        mask = parts.mask.flatten(0, 1)  # [B*2 W]
        words = parts.gather(self.dropout(self.embed(src))).flatten(0, 1)
        sides = self.read(words, mask)[-1].unflatten(0, (-1, 2))  # [B 2 W H]
        if self.config.align_both_ways:
            sides = self._enhanced(sides, parts, src.shape[1])
        projected = self.dropout(torch.relu(self.project(sides)))
        composed = self.compose(projected.flatten(0, 1), mask)[-1]
        return torch.cat([masked_mean(composed, mask), masked_max(composed, mask)], dim=1).unflatten(0, (-1, 2))

    def _enhanced(
        self, sides: Float[Tensor, "B 2 W H"], parts: SourceParts, length: int
    ) -> Float[Tensor, "B 2 W fourH"]:
        """Compute [a; a~; a - a~; a * a~] of both sides."""
        masks = [Mask.key_padding(parts.mask[:, side]) for side in range(2)]
        found = align_both_ways(sides[:, :1], sides[:, 1:], masks[0], masks[1])
        aligned = torch.cat([found.left.context, found.right.context], dim=1)
        if is_recording():
            assert found.left.weights is not None
            assert found.right.weights is not None
            _record(parts, (found.left.weights, found.right.weights), length)
        return torch.cat([sides, aligned, sides - aligned, sides * aligned], dim=-1)


def _two_parts(src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> SourceParts:
    parts = parts_of(src, src_mask)
    counts = parts.real.sum(dim=1).tolist()
    wrong = next((row for row, count in enumerate(counts) if count != 2), None)
    if wrong is not None:
        hint = 'Write `premise ||| hypothesis` on each line, and set tokenizer.source.separator = "|||".'
        message = (
            f'A model of kind = "inference" compares two parts, but source {wrong + 1} of {len(src)} in this batch'
        )
        raise HeedfulError(f"{message} has {counts[wrong]}.", hint=hint)
    return parts


def _record(parts: SourceParts, weights: tuple[Tensor, Tensor], length: int) -> None:
    """Record one table over the whole source: the premise's words read the hypothesis', and the other way about."""
    table = weights[0].new_zeros(length, length)
    visible = torch.zeros_like(table, dtype=torch.bool)
    for side, read in enumerate(weights):
        rows, columns = (parts.positions[0, one][parts.mask[0, one]] for one in (side, 1 - side))
        table[rows[:, None], columns] = read[0, 0, : len(rows), : len(columns)]
        visible[rows[:, None], columns] = True
    record("encoder.0.self", table[None, None], Mask.pair(visible))
