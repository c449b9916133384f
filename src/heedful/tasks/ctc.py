"""Symbols in the order of the source, with blanks between them. [Graves 2006]"""

from typing import final

from heedful.data.batch import Batch, labels_of
from heedful.data.store import Possible
from heedful.decoding.backend import Backend
from heedful.decoding.config import SearchConfig
from heedful.decoding.label_backend import CTCBackend
from heedful.decoding.shortlist import Shortlist
from heedful.events import Report
from heedful.models.config import ModelConfig
from heedful.models.ctc import CTC
from heedful.models.ctc_config import CTCConfig
from heedful.models.interface import Model
from heedful.tasks.label_checks import report_unknown, stored_targets, unknown_labels
from heedful.tasks.labels import encoder_only
from heedful.tasks.task import EncodedCorpus, HeldOutItems, Task
from heedful.text.tokenizer import Tokenizers
from heedful.text.vocabulary import PAD
from heedful.training.config import TrainingConfig
from heedful.training.ctc import check_feasible, ctc_losses, equal_split_losses, needed_positions
from heedful.training.objective import Loss, Objective, in_precision

USUAL_FRAMES = 200  # of speech


@final
class CTCObjective(Objective):
    """-ln p of the target over all paths that become it, or the baseline of symbols that share the positions equally.

    There is no distribution over labels at a position that could be smoothed.
    """

    def loss(self, model: Model, batch: Batch) -> Loss:
        with in_precision(self.config, batch.src.device):
            prediction, labels = encoder_only(model)(batch.src, batch.src_mask), labels_of(batch.tgt_out)
            nll = (equal_split_losses if is_equal_split(model) else ctc_losses)(prediction, labels)
            return Loss(nll.sum(), nll.detach().sum(), int((labels != PAD).sum()))


@final
class CTCTask(Task):
    """A target no longer than the positions of its source, in the same order."""

    def objective(self, training: TrainingConfig) -> Objective:
        return CTCObjective(training)

    def backend(
        self, model: Model, tokenizers: Tokenizers, search: SearchConfig, shortlist: Shortlist | None = None
    ) -> Backend:
        return CTCBackend(encoder_only(model), search, by_best_path=is_equal_split(model))

    def learnable(self, config: ModelConfig) -> Possible | None:
        if not isinstance(config, CTCConfig) or not config.drop_impossible:
            return None
        return lambda source, target: config.output_lengths(len(source)) >= needed_positions(target)

    def check_labels(self, config: ModelConfig, encoded: EncodedCorpus, report: Report) -> None:
        report_unknown("dev", unknown_labels(stored_targets(encoded.dev)), len(encoded.dev), report)

    def check_final_split(self, model: Model, tokenizers: Tokenizers, held: HeldOutItems, report: Report) -> None:
        unknown = unknown_labels(enumerate(map(tokenizers.target.encode_all, held.references)))
        report_unknown(held.split, unknown, len(held.sources), report)

    def check_pairs(self, model: Model, config: ModelConfig, encoded: EncodedCorpus, *, selects_by_loss: bool) -> None:
        if is_equal_split(model):
            return
        model = encoder_only(model)
        check_feasible("training", encoded.train, model.output_lengths(encoded.train.source_lengths))
        if selects_by_loss:
            check_feasible("dev", encoded.dev, model.output_lengths(encoded.dev.source_lengths))

    def usual_lengths(self, config: ModelConfig) -> tuple[int, int]:
        source, target = super().usual_lengths(config)
        width = config.frame_width if isinstance(config, CTCConfig) else None
        return (source if width is None else USUAL_FRAMES * width), target


def is_equal_split(model: Model) -> bool:
    """Tell whether the model is the baseline, whose symbols share the positions equally."""
    return isinstance(model, CTC) and model.config.loss == "equal-split"
