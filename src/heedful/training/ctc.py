"""What training minimises where targets are shorter than sources and in their order, and which pairs can be learned.

Knows no model beyond its answer: logits at T positions, over V symbols of which the first (PAD) is the blank.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.data.store import PairStore
from heedful.errors import ConfigError
from heedful.models.interface import Prediction
from heedful.text.vocabulary import PAD


def ctc_losses(answer: Prediction, labels: Int[Tensor, "B U"]) -> Float[Tensor, " B"]:
    """Compute -ln p(l | x) of each sentence, where p(l | x) sums over all paths that collapse to l. [Graves 2006, Eq.
    3, 12]

    `labels` are targets without EOS, PAD behind them. In float32 at least. A target that its positions cannot hold
    gives infinity: `check_feasible` finds it before training.
    """
    log_p = _float(answer.logits).log_softmax(dim=-1).transpose(0, 1)  # [T B V]
    lengths = answer.mask.sum(dim=1), (labels != PAD).sum(dim=1)
    return nn.functional.ctc_loss(log_p, labels, *lengths, blank=PAD, reduction="none", zero_infinity=False)


def equal_split_losses(answer: Prediction, labels: Int[Tensor, "B U"]) -> Float[Tensor, " B"]:
    """Compute the cross-entropy summed over the positions, as if the U labels shared the T positions equally and in
    order.

    The baseline of CTC: position t, from 0, is that of label floor(t U / T).
    """
    positions, symbols = answer.mask.sum(dim=1, keepdim=True), (labels != PAD).sum(dim=1, keepdim=True)
    times = torch.arange(answer.mask.shape[1], device=labels.device)
    owner = (times * symbols // positions.clamp(min=1)).clamp(max=labels.shape[1] - 1)  # [B T]
    wanted = labels.gather(1, owner).masked_fill(~answer.mask, PAD)
    logits = _float(answer.logits).transpose(1, 2)  # [B V T]
    return nn.functional.cross_entropy(logits, wanted, ignore_index=PAD, reduction="none").sum(dim=1)


def _float(logits: Tensor) -> Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def needed_positions(target: Sequence[int] | NDArray[np.int32]) -> int:
    """Return how many positions a target needs: one a symbol, and a blank before each symbol that repeats the one
    before it.
    """
    ids = np.asarray(target)
    return len(ids) + int(np.count_nonzero(ids[1:] == ids[:-1]))


def impossible_pairs(store: PairStore, positions: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the numbers of the pairs whose targets need more than their `positions`, one a pair."""
    needed = np.array([needed_positions(store.arrays(number)[1]) for number in range(len(store))], np.int64)
    return np.flatnonzero(positions < needed)


def check_feasible(split: Literal["training", "dev"], store: PairStore, positions: NDArray[np.integer]) -> None:
    """Check that CTC can align the pairs of a split. Raises ConfigError that counts the impossible ones, names the
    first, and says how to go on.
    """
    found = impossible_pairs(store, positions)
    if not len(found):
        return
    needed = [needed_positions(store.arrays(number)[1]) for number in found.tolist()]
    factor = max(-(-need // max(have, 1)) for need, have in zip(needed, positions[found].tolist(), strict=True))
    first = int(found[0])
    verb = "is" if len(found) == 1 else "are"
    message = (
        f"{len(found):,} of {len(store):,} {split} pairs {verb} impossible for CTC: their targets need more positions "
        "than their sources have, one a symbol and one between two equal ones. The first is pair "
        f"{store.origin(first) + 1}: {needed[0]} needed, {positions[first]} there."
    )
    way_out = {
        "training": "drop them explicitly (model.drop_impossible = true)",
        "dev": "choose the checkpoint by a metric, since their loss is infinite (training.select)",
    }[split]
    raise ConfigError(message, hint=f"Upsample >= {factor}x (model.upsample, or a smaller model.stride), or {way_out}.")
