"""What every task offers to training, search and checks. Knows none of them: see `heedful.tasks.table`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from heedful.data.store import PairStore, Possible
from heedful.decoding.backend import Backend
from heedful.decoding.config import SearchConfig
from heedful.decoding.shortlist import Shortlist
from heedful.errors import ConfigError
from heedful.events import Report
from heedful.models.config import ModelConfig
from heedful.models.interface import Model, Seq2Seq
from heedful.text.tokenizer import Tokenizers
from heedful.training.config import TrainingConfig
from heedful.training.objective import Objective


class EncodedCorpus(NamedTuple):
    """The encoded pairs that training reads."""

    tokenizers: Tokenizers
    train: PairStore
    dev: PairStore


class HeldOutItems(NamedTuple):
    """Items of a split as texts: sources, and all right targets of each."""

    split: str
    sources: Sequence[str]
    references: Sequence[Sequence[str]]


class Task(ABC):
    """The form of an output, and all that follows from it."""

    @abstractmethod
    def objective(self, training: TrainingConfig) -> Objective:
        """Return what training minimises."""

    @abstractmethod
    def backend(
        self, model: Model, tokenizers: Tokenizers, search: SearchConfig, shortlist: Shortlist | None = None
    ) -> Backend:
        """Return what finds outputs. Raises ConfigError for settings that the task cannot have."""

    def decoder_of(self, model: Model, what: str) -> Seq2Seq:
        """Return the model where it has a decoder. Raises ConfigError, which says that `what` needs one."""
        raise ConfigError(f"{what} needs a decoder, but this model is encoder-only.", hint="Leave it out.")

    def prepare_model(self, model: Model, tokenizers: Tokenizers) -> None:
        """Tell a new model what it must know of the vocabularies. Raises ValueError for labels that it cannot use."""
        return

    def learnable(self, config: ModelConfig) -> Possible | None:
        """Return what tells whether the model can learn a pair at all; None where every pair is stored."""
        return None

    def check_labels(self, config: ModelConfig, encoded: EncodedCorpus, report: Report) -> None:
        """Report, or raise ConfigError for, targets that no model of these vocabularies can write."""
        return

    def check_pairs(self, model: Model, config: ModelConfig, encoded: EncodedCorpus, *, selects_by_loss: bool) -> None:
        """Raise ConfigError for stored pairs that the model cannot read or learn."""
        return

    def check_split(self, model: Model, tokenizers: Tokenizers, held: HeldOutItems) -> None:
        """Raise ConfigError where the model cannot read a source, or a target can never be right."""
        return

    def check_final_split(self, model: Model, tokenizers: Tokenizers, held: HeldOutItems, report: Report) -> None:
        """Report targets of the split that judges the model which it can never write."""
        return

    def usual_lengths(self, config: ModelConfig) -> tuple[int, int]:
        """Return typical lengths of source and target in tokens, for measuring speed before data are read."""
        return 15, 15
