"""The output layer: some of its logits are those of all of it."""

from collections.abc import Mapping
from functools import partial

import torch
from tests.models.tiny import EVERY_VARIANT, VOCABULARY, tiny_model

from heedful.layers.inference_linear import inference_map


@EVERY_VARIANT
def test_logits_among_some_ids(variant: Mapping[str, object]) -> None:
    model = tiny_model(variant)
    hidden = torch.randn(3, model.output_weight().shape[1], dtype=torch.double)
    ids = torch.tensor([7, 0, VOCABULARY - 1])
    readout = model.readout(partial(inference_map, precision="float32"))
    torch.testing.assert_close(readout.among(ids)(hidden), model.logits(hidden)[:, ids])
