"""A label for the whole source, or at each position of it: all are predicted at once."""

from typing import final

import numpy as np

from heedful.data.batch import Batch, labels_of
from heedful.data.store import PairStore
from heedful.decoding.backend import Backend
from heedful.decoding.config import SearchConfig
from heedful.decoding.label_backend import LabelBackend
from heedful.decoding.shortlist import Shortlist
from heedful.errors import ConfigError, counted
from heedful.events import Report
from heedful.models.config import ModelConfig
from heedful.models.interface import EncoderOnly, Model
from heedful.tasks.label_checks import (
    check_label_counts,
    check_sources,
    report_unknown,
    stored_targets,
    unknown_labels,
)
from heedful.tasks.task import EncodedCorpus, HeldOutItems, Task
from heedful.text.tokenizer import Tokenizers
from heedful.text.vocabulary import EOS, PAD
from heedful.training.config import TrainingConfig
from heedful.training.label_losses import position_losses
from heedful.training.objective import Loss, Objective, in_precision


@final
class LabelObjective(Objective):
    """Label-smoothed cross-entropy at each position, and what the model adds to it."""

    def loss(self, model: Model, batch: Batch) -> Loss:
        model = encoder_only(model)
        with in_precision(self.config, batch.src.device):
            prediction, labels = model(batch.src, batch.src_mask), labels_of(batch.tgt_out)
            smoothed, nll = position_losses(prediction, labels, self.config.label_smoothing, self.config.smoothing_over)
            added = model.added_loss(prediction, nll)
            total = smoothed.sum() if added is None else smoothed.sum() + added.sum()
            return Loss(total, nll.detach().sum(), int((labels != PAD).sum()))


@final
class LabelTask(Task):
    """One label for each position that the model has for a source."""

    def objective(self, training: TrainingConfig) -> Objective:
        return LabelObjective(training)

    def backend(
        self, model: Model, tokenizers: Tokenizers, search: SearchConfig, shortlist: Shortlist | None = None
    ) -> Backend:
        return LabelBackend(encoder_only(model), search)

    def prepare_model(self, model: Model, tokenizers: Tokenizers) -> None:
        target = tokenizers.target
        encoder_only(model).name_labels([target.symbol(index) for index in range(len(target))])

    def check_labels(self, config: ModelConfig, encoded: EncodedCorpus, report: Report) -> None:
        if not config.one_vocabulary:
            _check_room(encoded.tokenizers, encoded.train)
            report_unknown("dev", unknown_labels(stored_targets(encoded.dev)), len(encoded.dev), report)
        if config.reads_parts:
            _check_parts(encoded.tokenizers, encoded.train)

    def check_pairs(self, model: Model, config: ModelConfig, encoded: EncodedCorpus, *, selects_by_loss: bool) -> None:
        model = encoder_only(model)
        for split, store in (("training", encoded.train), ("dev", encoded.dev)):
            sources = ((store.origin(index), store.arrays(index)[0].tolist()) for index in range(len(store)))
            check_sources(split, model, sources if config.reads_parts else ())
            positions = model.output_lengths(store.source_lengths)
            check_label_counts(split, positions, store.target_lengths, store.origin)

    def check_split(self, model: Model, tokenizers: Tokenizers, held: HeldOutItems) -> None:
        model = encoder_only(model)
        encoded = tokenizers.source.encode_all(held.sources)
        check_sources(held.split, model, enumerate(encoded))
        positions = model.output_lengths(np.array([len(ids) for ids in encoded]))
        targets = [target for some in held.references for target in some]
        owner = [number for number, some in enumerate(held.references) for _ in some]
        labels = np.array([len(ids) for ids in tokenizers.target.encode_all(targets)])
        check_label_counts(held.split, positions[owner], labels, owner.__getitem__)

    def check_final_split(self, model: Model, tokenizers: Tokenizers, held: HeldOutItems, report: Report) -> None:
        unknown = unknown_labels(enumerate(map(tokenizers.target.encode_all, held.references)))
        report_unknown(held.split, unknown, len(held.sources), report)


def encoder_only(model: Model) -> EncoderOnly:
    """Return a model without a decoder as what it is."""
    assert isinstance(model, EncoderOnly), "a model of the tasks `labels` and `ctc` is encoder-only"
    return model


def _check_room(tokenizers: Tokenizers, train: PairStore) -> None:
    """Raise ConfigError where the vocabulary has no room for all labels."""
    cut = unknown_labels(stored_targets(train))
    if cut.first is not None:
        text = f"train:{cut.first}: the first of {counted(cut.count, 'pair')}, among {len(train):,}"
        hint = f"Raise tokenizer.target.vocab_size: the vocabulary has {len(tokenizers.target):,} symbols."
        raise ConfigError(f"{text}, with a label for which the vocabulary has no room.", hint=hint)


def _check_parts(tokenizers: Tokenizers, train: PairStore) -> None:
    """Raise ConfigError where no source has parts, though the model reads them."""
    if not any((train.arrays(index)[0] == EOS).any() for index in range(len(train))):
        separator = tokenizers.source.config.separator
        message = f"train: `{separator}` stands in no source, so that none has parts."
        raise ConfigError(message, hint="Set tokenizer.source.separator to the word that stands between them.")
