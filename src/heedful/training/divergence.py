"""Training that has left the numbers, and where that is looked for before anything is written.

Knows no optimiser and no batch.
"""

import math
from collections.abc import Mapping, Sequence

from torch import nn

from heedful.errors import HeedfulError
from heedful.models.weights import is_finite

WAY_OUT = "Halve training.learning_rate, lengthen training.warmup_steps, or set training.clip_norm = 1.0."


class Diverged(HeedfulError):
    """Training left the numbers; `indices` are the pairs of the batch at which it was seen, if it was at one."""

    def __init__(self, message: str, indices: Sequence[int] = (), *, hint: str = WAY_OUT) -> None:
        super().__init__(message, hint=hint)
        self.indices = list(indices)


def check_model(model: nn.Module, update: int) -> None:
    """Raise Diverged where a weight is infinite or no number (NaN)."""
    for name, parameter in model.named_parameters():
        if not is_finite(parameter.detach()):
            raise Diverged(f"Training diverged at update {update}: `{name}` has numbers that are not finite.")


def check_validation(values: Mapping[str, float], score: float, update: int) -> None:
    """Raise Diverged where a measure is no number, or what chooses the best model is not finite.

    A loss that chooses nothing may be infinite: a reader gives no probability to an answer that its story lacks.
    """
    bad = [(name, value) for name, value in values.items() if math.isnan(value)]
    bad += [] if math.isfinite(score) else [("score", score)]
    if bad:
        name, value = bad[0]
        raise Diverged(f"Training diverged at update {update}: the {name} of dev is {value:g}.")
