"""The output layer: some of its logits are those of all of it."""

from collections.abc import Mapping

import torch
from tests.models.tiny import EVERY_VARIANT, VOCABULARY, tiny_model


@EVERY_VARIANT
def test_logits_among_some_ids(variant: Mapping[str, object]) -> None:
    model = tiny_model(variant)
    hidden = torch.randn(3, model.output_weight().shape[1], dtype=torch.double)
    ids = torch.tensor([7, 0, VOCABULARY - 1])
    torch.testing.assert_close(model.logits_among(ids)(hidden), model.logits(hidden)[:, ids])
