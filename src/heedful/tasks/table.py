"""The one table from a model to its task, and the two ways in which the rest of the program uses it."""

from heedful.data.batch import Batch
from heedful.decoding.config import BeamSearch, SearchConfig
from heedful.decoding.shortlist import Shortlist
from heedful.decoding.translator import Translator
from heedful.models.config import ModelConfig
from heedful.models.interface import Model
from heedful.tasks.ctc import CTCTask
from heedful.tasks.labels import LabelTask
from heedful.tasks.sequence import SequenceTask
from heedful.tasks.task import Task
from heedful.text.tokenizer import Tokenizers
from heedful.training.config import TrainingConfig
from heedful.training.objective import Loss

TASKS: dict[str, Task] = {"sequence": SequenceTask(), "labels": LabelTask(), "ctc": CTCTask()}


def task_of(model: Model | ModelConfig) -> Task:
    """Return the task of a model, or of its settings."""
    return TASKS[model.task]


def translator_of(
    model: Model, tokenizers: Tokenizers, search: SearchConfig | None = None, shortlist: Shortlist | None = None
) -> Translator:
    """Return a translator over a model. Raises ConfigError for settings of search that its task cannot have."""
    search = BeamSearch() if search is None else search
    return Translator(task_of(model).backend(model, tokenizers, search, shortlist), tokenizers)


def compute_loss(model: Model, batch: Batch, config: TrainingConfig) -> Loss:
    """Compute the objective of one batch over all its positions, in the configured precision."""
    return task_of(model).objective(config).loss(model, batch)
