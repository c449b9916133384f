"""Tokens one after another: teacher forcing in training, search through a decoder in use."""

from typing import final

import torch

from heedful.data.batch import Batch
from heedful.decoding.backend import Backend
from heedful.decoding.config import SearchConfig
from heedful.decoding.sequence_backend import SequenceBackend
from heedful.decoding.shortlist import Shortlist
from heedful.models.interface import Model, Seq2Seq
from heedful.tasks.task import Task
from heedful.text.tokenizer import Tokenizers
from heedful.training.config import TrainingConfig
from heedful.training.objective import (
    Loss,
    Objective,
    ReplacedInputs,
    in_precision,
    label_smoothed_cross_entropy,
    one_position_loss,
)
from heedful.training.scheduled_sampling import mix


@final
class SequenceObjective(Objective):
    """Label-smoothed cross-entropy of each target token, given those before it. [Vaswani 2017, 5.4]"""

    def loss(self, model: Model, batch: Batch) -> Loss:
        return self._loss(decoder(model), batch, one_position=False)

    def training_loss(self, model: Model, batch: Batch, update: int) -> tuple[Loss, ReplacedInputs]:
        mixed = mix(decoder(model), batch, self.config, update)
        return self._loss(decoder(model), mixed.batch, one_position=self.config.positions == "one"), mixed.replaced

    def uniform_loss(self, model: Model) -> float:
        if self.config.positions == "one":  # its variance is too large to tell divergence by
            return super().uniform_loss(model)
        return float(torch.tensor(float(len(decoder(model).output_weight()))).log())

    def _loss(self, model: Seq2Seq, batch: Batch, *, one_position: bool) -> Loss:
        with in_precision(self.config, batch.src.device):
            hidden = model(batch.src, batch.src_mask, batch.tgt_in)
            measure = one_position_loss if one_position else label_smoothed_cross_entropy
            smoothing = self.config.label_smoothing, self.config.smoothing_over
            return measure(hidden, model.output_weight(), batch.tgt_out, *smoothing)


@final
class SequenceTask(Task):
    """A target of any length, token by token."""

    def objective(self, training: TrainingConfig) -> Objective:
        return SequenceObjective(training)

    def backend(
        self, model: Model, tokenizers: Tokenizers, search: SearchConfig, shortlist: Shortlist | None = None
    ) -> Backend:
        return SequenceBackend(decoder(model), search, tokenizers.target.decode, shortlist)

    def decoder_of(self, model: Model, what: str) -> Seq2Seq:
        return decoder(model)


def decoder(model: Model) -> Seq2Seq:
    """Return a model of this task as what it is."""
    assert isinstance(model, Seq2Seq), "a model of the task `sequence` has a decoder"
    return model
