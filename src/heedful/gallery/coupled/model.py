"""Coupled multi-layer attention: aspect words and opinion words, found with the help of each other.

Knows no tags as text. B sentences, S tokens with EOS, D d_model, H d_hidden, K bilinear forms, V tags.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.attention import CoupledTensor, Mask, attend, dot, overlap_penalty
from heedful.gallery.coupled.config import CoupledConfig
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.models.encoders import RecurrentEncoder
from heedful.models.interface import EncoderOnly, Prediction
from heedful.models.recording import record


@final
class Neighbours(nn.Module):
    """tanh(W [x_{i-1}; x_i; x_{i+1}] + b), x a word's embedding, zeros beyond the sentence."""

    def __init__(self, d_model: int, d_hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(3 * d_model, d_hidden)

    def forward(self, x: Float[Tensor, "B S D"], words: Bool[Tensor, "B S"]) -> Float[Tensor, "B S H"]:
        x = torch.where(words[..., None], x, 0.0)
        before, after = nn.functional.pad(x, (0, 0, 1, 0))[:, :-1], nn.functional.pad(x, (0, 0, 0, 1))[:, 1:]
        return torch.tanh(self.linear(torch.cat([before, x, after], dim=-1)))


@final
class Coupled(EncoderOnly):
    """u^m_{t+1} = tanh(Q^m u^m_t) + sum_i alpha^m_i h_i for both heads m, T times; a word's tag is read from the sum of
    its features r_i over the layers. [Wang 2017]

    Layers share all weights. With two `label_heads` the logit of a tag reads the features of its own head, and that of
    O none: the product of the paper's two softmaxes over B, I and O, given that no word is an aspect and an opinion at
    once. With one, each logit reads the features of both heads.
    """

    def __init__(self, config: CoupledConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        width = config.d_hidden
        self.embed = Embedding(source_size, config.d_model, scaled=True)
        self.dropout = Dropout(config.dropout)
        self.gru = RecurrentEncoder(config.d_model, width) if config.context == "gru" else None
        self.window = Neighbours(config.d_model, width) if config.context == "window" else None
        self.prototypes = nn.Parameter(torch.empty(2, 1, width).uniform_(-0.2, 0.2))
        self.score = CoupledTensor(width, config.n_forms)
        if not config.coupled:
            nn.init.zeros_(self.score.other).requires_grad_(False)
        self.carry = nn.Parameter(torch.empty(2, width, width).uniform_(-0.2, 0.2))
        self.output = nn.Linear(4 * config.n_forms, target_size)
        if config.label_heads == "two":
            # 1 where the logit of a tag reads the features of a head, else 0; not learned, but kept with the weights
            self.reads = nn.Parameter(torch.ones(target_size, 2), requires_grad=False)
        self.config = config

    def name_labels(self, names: Sequence[str]) -> None:
        """Assign the tags to two label heads: the kinds of B-KIND and I-KIND go to them by the alphabet."""
        if self.config.label_heads == "one":
            return
        kinds = [name.partition("-")[2] if name.startswith(("B-", "I-")) else None for name in names]
        found = sorted({kind for kind in kinds if kind is not None})
        if len(found) != 2:
            raise ValueError(
                f'`model.label_heads` = "two" needs tags of two kinds (B-, I-), but these have {len(found)}'
                f'{": " if found else ""}{", ".join(found)}; set it to "one"'
            )
        self.reads.data = torch.tensor([[float(kind == head) for head in found] for kind in kinds]).to(self.reads)

    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        words = nn.functional.pad(
            src_mask[:, 1:], (0, 1)
        )  # a position is a word if a real token follows: the last is EOS
        h = self.dropout(self._words(self.dropout(self.embed(src)), words))
        key = h[:, None].expand(-1, 2, -1, -1)
        u = self.prototypes.expand(len(src), -1, -1, -1)  # [B 2 1 H]
        total, penalty = h.new_zeros(len(src), 2, src.shape[1], 2 * self.config.n_forms), h.new_zeros(len(src))
        padding = Mask.key_padding(words)
        for layer in range(self.config.n_layers):
            r = self.score.features(u, key)  # [B 2 S 2K]
            read = attend(self._asking(len(src)), r, key, score=dot, mask=padding)
            assert read.weights is not None
            total = total + r
            penalty = penalty + overlap_penalty(read.weights[:, :, 0])
            u = torch.tanh(u @ self.carry) + read.context
            self._record(layer, read.weights, padding)
        logits = self._logits(self.dropout(total.transpose(1, 2).flatten(2)))
        weight = self.config.penalty / self.config.n_layers
        return Prediction(logits[:, :-1], src_mask[:, 1:], penalty * weight if weight else None)

    def _logits(self, features: Float[Tensor, "B S fourK"]) -> Float[Tensor, "B S V"]:
        if self.config.label_heads == "one":
            return self.output(features)
        read = self.reads.repeat_interleave(2 * self.config.n_forms, dim=1)  # [V 4K]
        return nn.functional.linear(features, self.output.weight * read, self.output.bias)

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return n_source

    def _words(self, embedded: Float[Tensor, "B S D"], words: Bool[Tensor, "B S"]) -> Float[Tensor, "B S H"]:
        if self.gru is not None:
            return self.gru(embedded, words)[-1]
        assert self.window is not None
        return self.window(embedded, words)

    def _asking(self, batch: int) -> Float[Tensor, "B 2 1 twoK"]:
        """Return v, with which the features of a word become its score: `CoupledTensor` with
        features that are there.
        """
        return self.score.weight[None, :, None].expand(batch, -1, -1, -1)

    def _record(self, layer: int, weights: Float[Tensor, "B 2 1 S"], padding: Mask) -> None:
        """Record a row for each position, all alike: each tag is read with the whole sentence's weights."""
        n_places = weights.shape[-1] - 1
        record(f"reader.{layer}.read", weights.expand(-1, -1, n_places, -1), padding)
