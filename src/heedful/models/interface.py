"""What training, search and inspection may ask of a model, whatever it is made of.

B sentences, S/T source/target length, D d_model, M width of memory, V vocabulary, K beams, N = B * K rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.attention import Map
from heedful.layers.product import InferenceMap, Precision, inference_map


class Memory(NamedTuple):
    """The encoded source: one vector of the model's `memory_width` a token, and which tokens are real (True)."""

    values: Float[Tensor, "B S M"]
    mask: Bool[Tensor, "B S"]


class State(ABC):
    """What a decoder remembers between steps, for K consecutive rows a sentence. Never changed in place."""

    @property
    def device(self) -> torch.device:
        """Where the model wants its tokens."""
        return torch.device("cpu")

    @abstractmethod
    def reorder(self, rows: Int[Tensor, " N"]) -> "State":
        """The state of these rows, in this order: K rows for each sentence that stays, all of that one sentence."""


class Model(nn.Module, ABC):
    """Whatever is trained, bundled and asked: sources in, targets out."""

    @property
    def longest(self) -> int | None:
        """The most tokens of a source or a target, with its EOS or BOS, that can be read; None where any number can."""
        return None


class Sampling(NamedTuple):
    """What REINFORCE needs of sampled attention, a sentence; both carry gradients to the scores."""

    log_p: Float[Tensor, " B"]  # of what was drawn
    entropy: Float[Tensor, " B"]  # of what it was drawn from, in nats


class Prediction(NamedTuple):
    """What a model says at once. T places: one a word for a tagger, one in all for a classifier, frames for CTC."""

    logits: Float[Tensor, "B T V"]  # of the label of each place, over the target vocabulary
    mask: Bool[Tensor, "B T"]  # which places are real
    penalty: Float[Tensor, " B"] | None = None  # weighted already; training adds it to the loss of each sentence
    drawn: Sampling | None = None


class EncoderOnly(Model, ABC):
    """A model without a decoder: it reads a source, and answers all places at once.

    `alignment` says how labels and places belong together: "places", one by one; "ctc", in the same order, with blanks
    (PAD) and repeats between them; "equal-split", in the same order, each label at equally many places.
    """

    alignment: Literal["places", "ctc", "equal-split"] = "places"

    @abstractmethod
    def predict(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], maps: list[Map] | None = None
    ) -> Prediction:
        """Read the sources. Attention maps of the first sentence are appended to `maps`, if given."""

    @abstractmethod
    def places(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        """How many places sources with so many tokens (without the last EOS) have."""

    def name_labels(self, names: Sequence[str]) -> None:
        """Learn what all ids of the target vocabulary stand for, once, before training; most models need not know.

        Raises ValueError for labels that the model cannot use.
        """

    def validation_error(self, source: Sequence[int]) -> str | None:
        """What is wrong with a source (ids without the last EOS) that this model cannot answer; None if it can."""
        return None

    def added_loss(self, answer: Prediction, nll: Float[Tensor, " B"]) -> Float[Tensor, " B"] | None:
        """What training minimises beside the cross-entropy of the labels, `nll` nats a sentence: here the penalty."""
        return answer.penalty

    def forward(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        """What training calls."""
        return self.predict(src, src_mask)


class Seq2Seq(Model, ABC):
    """An encoder, a decoder, and one law: `decode(memory, y)[:, t]` equals the t-th `step`."""

    output_bias: nn.Parameter | None  # [V], added to the logits; of imported models

    def __init__(self) -> None:
        super().__init__()
        self.readout: InferenceMap | None = None  # where prepared for search, takes the place of the output matrix

    @abstractmethod
    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], maps: list[Map] | None = None) -> Memory:
        """Read the sources. Attention maps of the first sentence are appended to `maps`, if given."""

    @abstractmethod
    def decode(
        self, memory: Memory, tgt_in: Int[Tensor, "B T"], maps: list[Map] | None = None
    ) -> Float[Tensor, "B T D"]:
        """All positions at once, each seeing only itself and those before it (teacher forcing)."""

    @abstractmethod
    def start(self, memory: Memory, beams: int) -> State:
        """The state before the first token, for `beams` rows a sentence."""

    @abstractmethod
    def step(self, state: State, tokens: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N D"], State]:
        """Consume one token a row; the hidden vector that predicts the next one, and the new state."""

    @property
    def memory_width(self) -> int:
        """The width M of a token's vector in the memory: that of the output matrix, unless a model says another."""
        return self.output_weight().shape[1]

    @abstractmethod
    def output_weight(self) -> Float[Tensor, "V D"]:
        """The matrix before the softmax: logits are hidden vectors times its transpose."""

    def logits(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Unnormalised log-probabilities of the next token."""
        if self.readout is not None:
            return self.readout(hidden)
        return nn.functional.linear(hidden, self.output_weight(), self.output_bias)

    def logits_among(self, ids: Int[Tensor, " U"]) -> Callable[[Float[Tensor, "N D"]], Float[Tensor, "N U"]]:
        """`logits` of these ids only, in their order: the rest of the matrix is never multiplied."""
        if self.readout is not None:
            return self.readout.among(ids)
        weight, bias = self.output_weight()[ids], None if self.output_bias is None else self.output_bias[ids]
        return lambda hidden: nn.functional.linear(hidden, weight, bias)

    def prepare_readout(self, precision: Precision) -> None:
        """Make the output matrix ready for search, in this precision. A model that has none of its own skips it."""
        self.readout = inference_map(self.output_weight(), self.output_bias, precision)

    def forward(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], tgt_in: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Encode and decode: what training calls."""
        return self.decode(self.encode(src, src_mask), tgt_in)


def sentences_that_stay(rows: Int[Tensor, " N"], beams: int, n_sentences: int) -> Int[Tensor, " B"] | None:
    """The sentences of reordered rows; None where all stay in their order, so that nothing of theirs need be moved."""
    sentences = rows.view(-1, beams)[:, 0] // beams
    unmoved = len(sentences) == n_sentences and torch.equal(sentences, torch.arange(n_sentences, device=rows.device))
    return None if unmoved else sentences
