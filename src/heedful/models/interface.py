"""What training, search and inspection may ask of a model, whatever it is made of.

B sentences, S/T source/target length, D d_model, M width of memory, V vocabulary, K beams, N = B * K rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.layers.inference_linear import Readout


class Memory(NamedTuple):
    """The encoded source: one vector of the model's `memory_width` a token, and which tokens are real (True)."""

    values: Float[Tensor, "B S M"]
    mask: Bool[Tensor, "B S"]


class State(ABC):
    """State of a decoder between steps, for K consecutive rows a sentence. Never changed in place."""

    @property
    def device(self) -> torch.device:
        """Device on which the model expects its tokens."""
        return torch.device("cpu")

    @abstractmethod
    def reorder(self, rows: Int[Tensor, " N"]) -> "State":
        """Return the state of these rows, in this order: K rows for each sentence that stays, all of that
        one sentence.
        """


class Model(nn.Module, ABC):
    """Model that is trained, bundled and used: sources in, targets out.

    `task` names the form of its output: a row of `heedful.tasks.table`.
    """

    task: ClassVar[str]

    @property
    def longest(self) -> int | None:
        """The most tokens of a source or a target, with its EOS or BOS, that can be read; None where any number can."""
        return None


class Sampling(NamedTuple):
    """Statistics of sampled attention that REINFORCE needs, one per sentence; both carry gradients to the scores."""

    log_p: Float[Tensor, " B"]  # of what was drawn
    entropy: Float[Tensor, " B"]  # of what it was drawn from, in nats


class Prediction(NamedTuple):
    """Prediction of an encoder-only model at T positions: one a word for a tagger, one in all for a classifier, frames
    for CTC.
    """

    logits: Float[Tensor, "B T V"]  # of the label at each position, over the target vocabulary
    mask: Bool[Tensor, "B T"]  # which positions are real
    penalty: Float[Tensor, " B"] | None = None  # weighted already; training adds it to the loss of each sentence
    drawn: Sampling | None = None


class EncoderOnly(Model, ABC):
    """A model without a decoder: it reads a source, and predicts all output positions at once (non-autoregressive)."""

    task = "labels"

    @abstractmethod
    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        """Read the sources. Attention maps are kept within `heedful.models.recording.recorded_maps`."""

    @abstractmethod
    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        """Count the output positions of sources with so many tokens (without the last EOS)."""

    def name_labels(self, names: Sequence[str]) -> None:
        """Learn what all ids of the target vocabulary stand for, once, before training; most models need not know.

        Raises ValueError for labels that the model cannot use.
        """

    def validation_error(self, source: Sequence[int]) -> str | None:
        """Say what is wrong with a source (ids without the last EOS) that this model cannot read; None if it can."""
        return None

    def added_loss(self, answer: Prediction, nll: Float[Tensor, " B"]) -> Float[Tensor, " B"] | None:
        """Return the extra loss that training minimises beside the cross-entropy of the labels, `nll` nats a sentence:
        here the penalty.
        """
        return answer.penalty

    def forward(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        """Predict; training calls this."""
        return self.predict(src, src_mask)


class Seq2Seq(Model, ABC):
    """An encoder, a decoder, and one law: `decode(memory, y)[:, t]` equals the t-th `step`."""

    task = "sequence"

    output_bias: nn.Parameter | None  # [V], added to the logits; of imported models

    @abstractmethod
    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Memory:
        """Read the sources. Attention maps are kept within `heedful.models.recording.recorded_maps`."""

    @abstractmethod
    def decode(self, memory: Memory, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Decode all positions at once, each seeing only itself and those before it (teacher forcing)."""

    @abstractmethod
    def start(self, memory: Memory, beams: int) -> State:
        """Return the state before the first token, for `beams` rows a sentence."""

    @abstractmethod
    def step(self, state: State, tokens: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N D"], State]:
        """Consume one token a row; the hidden vector that predicts the next one, and the new state."""

    @property
    def memory_width(self) -> int:
        """The width M of a token's vector in the memory: that of the output matrix, unless a model says another."""
        return self.output_weight().shape[1]

    @abstractmethod
    def output_weight(self) -> Float[Tensor, "V D"]:
        """Return the matrix before the softmax: logits are hidden vectors times its transpose."""

    def logits(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Compute unnormalised log-probabilities of the next token."""
        return nn.functional.linear(hidden, self.output_weight(), self.output_bias)

    def readout(self, make: Callable[[Tensor, Tensor | None], Readout]) -> Readout:
        """Return the output layer as search uses it: `logits`, made by `make` of the output matrix and its bias."""
        return make(self.output_weight(), self.output_bias)

    def forward(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], tgt_in: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Encode and decode: what training calls."""
        return self.decode(self.encode(src, src_mask), tgt_in)


def sentences_that_stay(rows: Int[Tensor, " N"], beams: int, n_sentences: int) -> Int[Tensor, " B"] | None:
    """Return the sentences of reordered rows; None where all stay in their order, so that nothing need be moved."""
    sentences = rows.view(-1, beams)[:, 0] // beams
    unmoved = len(sentences) == n_sentences and torch.equal(sentences, torch.arange(n_sentences, device=rows.device))
    return None if unmoved else sentences
