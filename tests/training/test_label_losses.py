"""The objective of encoder-only models, against torch's cross-entropy."""

import pytest
import torch
from torch import Tensor, nn

from heedful.data.batch import labels_of
from heedful.models.interface import Prediction
from heedful.text.vocabulary import EOS, PAD
from heedful.training.label_losses import position_losses

LABELS = torch.tensor([[5, 4, 7], [6, PAD, PAD]])


def prediction() -> Prediction:
    generator = torch.Generator().manual_seed(1)
    return Prediction(torch.randn(2, 3, 9, generator=generator, dtype=torch.float64), LABELS != PAD)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_is_torchs_cross_entropy(epsilon: float) -> None:
    found = prediction()
    smoothed, nll = position_losses(found, LABELS, epsilon, "all")
    logits = found.logits.float().flatten(0, 1)

    def by_torch(smoothing: float) -> Tensor:
        loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=smoothing, reduction="none")
        return loss(logits, LABELS.flatten()).view(2, 3).sum(dim=1)

    torch.testing.assert_close(smoothed, by_torch(epsilon))
    torch.testing.assert_close(nll, by_torch(0.0))


def test_nobody_predicts_the_end() -> None:
    tgt_out = torch.tensor([[5, 4, 7, EOS], [6, EOS, PAD, PAD]])
    assert labels_of(tgt_out).tolist() == LABELS.tolist()


def test_what_is_behind_the_end_has_no_part() -> None:
    found = prediction()
    wild = found._replace(logits=found.logits.masked_fill(~found.mask[:, :, None], 1e9))
    for one, other in zip(
        position_losses(found, LABELS, 0.1, "all"), position_losses(wild, LABELS, 0.1, "all"), strict=True
    ):
        assert torch.equal(one, other)


def test_one_label_a_place() -> None:
    with pytest.raises(ValueError, match=r"`labels` must be one a position \(\[3, 1\]\), but are \[3, 2\]"):
        position_losses(prediction(), torch.tensor([[5, 4, 7], [6, 6, PAD]]), 0.0, "all")
