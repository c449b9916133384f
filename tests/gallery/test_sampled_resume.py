"""Training with sampled attention goes on as if it had not been stopped: the draws and the reward's baseline, too."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.gallery.classifiers import VARIANTS, classifier_config
from tests.models.tiny import FIRST, VOCABULARY
from tests.training.toy import Log, training_config
from torch import Tensor

from heedful.data.batch import Batch, collate
from heedful.errors import Interrupted
from heedful.gallery.pooling.model import build_pooling_classifier
from heedful.models.weights import weights_of
from heedful.tasks.table import task_of
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.loop import Trainer, Validation

SENTENCES = [[5, 6, 7, 4, 9, 10], [4, 8], [9, 9, 5], [8, 7, 6, 5]]


def batch_at(index: int) -> Batch:
    """Always the same sentences, their labels turned by one from batch to batch."""
    pairs = [(words, [FIRST + (row + index) % 4]) for row, words in enumerate(SENTENCES)]
    return collate(pairs, range(len(pairs)))


def weights_after(folder: Path, initial: int, stop: Callable[[], bool]) -> dict[str, Tensor]:
    """All that is kept after training from `folder`'s last checkpoint on, until the end or until told to stop."""
    torch.manual_seed(initial)
    model = build_pooling_classifier(
        classifier_config({**VARIANTS["rnn, hard"], "dropout": 0.2}), VOCABULARY, VOCABULARY
    ).double()
    checkpoints = CheckpointFolder(folder, 1)
    trainer = Trainer(
        model,
        task_of(model).objective(training_config()),
        training_config(),
        d_model=8,
        seed=5,
        checkpoints=checkpoints,
        log=Log([]),
    )
    trainer.run(batch_at, lambda _model: Validation({}, 0.0), stop)
    return {name: tensor.clone() for name, tensor in weights_of(model).items()}


def test_goes_on_exactly(tmp_path: Path) -> None:
    whole = weights_after(tmp_path / "whole", 0, lambda: False)
    answers = iter([False, False, False, False, True])
    with pytest.raises(Interrupted):
        weights_after(tmp_path / "stopped", 0, lambda: next(answers))
    resumed = weights_after(tmp_path / "stopped", 1, lambda: False)
    assert float(whole["pooling.baseline.value"]) < 0
    for name, tensor in whole.items():
        assert torch.equal(tensor, resumed[name]), name
