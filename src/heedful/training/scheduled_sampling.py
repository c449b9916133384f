"""Scheduled sampling: the decoder reads some of its own predictions in training, so that it learns to go on from them.

In two passes, for every Seq2Seq alike. The first predicts every token from its reference prefix; in the second, which
is trained, some reference inputs are replaced by these predictions. So what replaces a token was not itself made from
replaced ones, as it would be where a recurrent decoder samples step by step; in exchange all positions are computed at
once.

Knows no corpus. What it draws comes from torch's generator, which the loop seeds by (seed, update, part).
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heedful.data.batch import Batch
from heedful.models.interface import Seq2Seq
from heedful.text.vocabulary import BOS, EOS, PAD
from heedful.training.config import (
    AnyScheduledSampling,
    Exponential,
    InverseSigmoid,
    Linear,
    ScheduledSampling,
    TrainingConfig,
)
from heedful.training.objective import CHUNK_ELEMENTS, ReplacedInputs, in_precision
from heedful.training.progress import LogWindow


class MixedBatch(NamedTuple):
    """A batch whose `tgt_in` holds some predictions; `tgt_out` stays gold."""

    batch: Batch
    replaced: ReplacedInputs


def p_gold(schedule: AnyScheduledSampling, step: int) -> float:
    """Return the probability that an input token stays the reference one: linear max(floor, k - c i), exponential k^i,
    inverse sigmoid k / (k + exp(i / k)), i = step. [Bengio 2015, 2.4]

    tensor2tensor's setting is the other one, the probability of a prediction: 1 - p_gold.
    """
    match schedule:
        case Linear():
            return max(schedule.floor, schedule.k - schedule.c * step)
        case Exponential():
            return schedule.k**step
        case InverseSigmoid():
            return schedule.k / (schedule.k + math.exp(min(step / schedule.k, 700.0)))  # exp(710) is no float


def preview(config: TrainingConfig) -> list[tuple[int, float]]:
    """List (update, p_gold) at the first update and at each quarter of the way to the
    last; empty without a schedule.
    """
    schedule, last = config.scheduled_sampling, config.max_updates
    if schedule is None:
        return []
    updates = sorted({1, *(max(1, last * quarter // 4) for quarter in range(1, 5))})
    return [(update, p_gold(schedule, update)) for update in updates]


def shares(schedule: AnyScheduledSampling | None, update: int, window: LogWindow) -> dict[str, float]:
    """Return the fields of a log line about scheduled sampling: p_gold now, and the shares of inputs replaced and
    changed.
    """
    if schedule is None:
        return {}
    inputs = max(1, window.inputs)
    return {
        "p_gold": p_gold(schedule, update),
        "inputs_replaced": window.replaced / inputs,
        "inputs_changed": window.changed / inputs,
    }


def mix(model: Seq2Seq, batch: Batch, config: TrainingConfig, update: int) -> MixedBatch:
    """Return the batch that this update is trained on: each reference input is kept with probability p_gold(update), or
    else replaced by the model's prediction at its position. [Bengio 2015, 2.4; Mihaylova 2019]

    BOS is never replaced, and no prediction is PAD, BOS or EOS: a decoder reads none of them in use. The first pass has
    no gradient and the mode of the second, dropout included: on small data a model without dropout soon predicts the
    reference tokens of what it was trained on, and would have nothing to learn from.
    """
    schedule = config.scheduled_sampling
    if schedule is None:
        return MixedBatch(batch, ReplacedInputs())
    may_change = batch.tgt_in != PAD
    may_change[:, 0] = False
    drawn = torch.rand(may_change.shape, device=may_change.device)
    chosen = may_change & (drawn >= p_gold(schedule, update))
    n_chosen, tgt_in = int(chosen.sum()), batch.tgt_in.clone()
    if n_chosen:  # while all stay gold, the first pass is left out
        tgt_in[chosen] = _predicted(model, batch, chosen, schedule, config)
    changed = int((tgt_in != batch.tgt_in).sum())
    return MixedBatch(batch._replace(tgt_in=tgt_in), ReplacedInputs(int(may_change.sum()), n_chosen, changed))


@torch.no_grad()
def _predicted(
    model: Seq2Seq, batch: Batch, chosen: Bool[Tensor, "B T"], schedule: ScheduledSampling, config: TrainingConfig
) -> Int[Tensor, " M"]:
    """Predict the chosen inputs, row by row: input t is predicted by position t - 1."""
    with in_precision(config, batch.src.device):
        hidden = model(batch.src, batch.src_mask, batch.tgt_in)[:, :-1][chosen[:, 1:]]  # [M D]
        size = max(1, CHUNK_ELEMENTS // len(model.output_weight()))
        return torch.cat([_chosen_ids(model.logits(rows).float(), schedule) for rows in hidden.split(size)])


def _chosen_ids(logits: Tensor, schedule: ScheduledSampling) -> Tensor:
    """Choose ids [M] from logits [M V]. A draw is the largest of the logits with Gumbel noise, -log of an exponential
    variable.
    """
    logits[:, [PAD, BOS, EOS]] = -math.inf
    if schedule.prediction == "sampled":
        logits = logits - torch.empty_like(logits).exponential_().log()
    return logits.argmax(dim=1)
