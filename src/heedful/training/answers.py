"""What training minimises where a model answers at once: cross-entropy at each place, or CTC, and what the model adds.

Knows no model beyond its `Prediction`.
"""

from jaxtyping import Float, Int
from torch import Tensor

from heedful.data.batch import Batch, labels_of
from heedful.models.interface import EncoderOnly, Prediction
from heedful.text.vocabulary import PAD
from heedful.training.ctc import ctc_losses, equal_split_losses
from heedful.training.objective import Loss, SmoothingOver, smoothed_target


def answer_loss(model: EncoderOnly, batch: Batch, epsilon: float, over: SmoothingOver) -> Loss:
    """The loss of a batch, summed over its labels; `smoothed` also holds what the model adds."""
    answer = model(batch.src, batch.src_mask)
    labels = labels_of(batch.tgt_out)
    if model.alignment == "places":
        smoothed, nll = place_losses(answer, labels, epsilon, over)
    else:  # there is no distribution over labels at a place that could be smoothed
        smoothed = nll = (ctc_losses if model.alignment == "ctc" else equal_split_losses)(answer, labels)
    added = model.added_loss(answer, nll)
    total = smoothed.sum() if added is None else smoothed.sum() + added.sum()
    return Loss(total, nll.detach().sum(), int((labels != PAD).sum()))


def place_losses(
    answer: Prediction, labels: Int[Tensor, "B T"], epsilon: float, over: SmoothingOver
) -> tuple[Float[Tensor, " B"], Float[Tensor, " B"]]:
    """-sum q log softmax(logits) over the places of each sentence, with q from `smoothed_target`, and the same without
    smoothing. Raises ValueError unless there is one label a place.
    """
    if labels.shape != answer.mask.shape or bool(((labels != PAD) != answer.mask).any()):
        places = answer.mask.sum(dim=1).tolist()
        raise ValueError(f"`labels` must be one a place ({places}), but are {(labels != PAD).sum(dim=1).tolist()}.")
    log_p = answer.logits.float().log_softmax(dim=-1)
    target = smoothed_target(log_p.shape[-1], epsilon, over)
    right = log_p.gather(2, labels[:, :, None])[:, :, 0]
    everywhere = log_p.sum(dim=-1) - (log_p[:, :, PAD] if target.skip_pad else 0.0)
    smoothed = -(target.right - target.rest) * right
    if target.rest:
        smoothed = smoothed - target.rest * everywhere
    real = answer.mask
    return smoothed.masked_fill(~real, 0.0).sum(dim=1), -right.masked_fill(~real, 0.0).sum(dim=1)
