"""Cross-entropy at each position of an encoder-only prediction. Knows no model beyond its `Prediction`."""

from jaxtyping import Float, Int
from torch import Tensor

from heedful.models.interface import Prediction
from heedful.text.vocabulary import PAD
from heedful.training.objective import SmoothingOver, smoothed_target


def position_losses(
    answer: Prediction, labels: Int[Tensor, "B T"], epsilon: float, over: SmoothingOver
) -> tuple[Float[Tensor, " B"], Float[Tensor, " B"]]:
    """Compute -sum q log softmax(logits) over the positions of each sentence, with q from `smoothed_target`, and the
    same without smoothing. Raises ValueError unless there is one label a position.
    """
    if labels.shape != answer.mask.shape or bool(((labels != PAD) != answer.mask).any()):
        positions = answer.mask.sum(dim=1).tolist()
        raise ValueError(
            f"`labels` must be one a position ({positions}), but are {(labels != PAD).sum(dim=1).tolist()}."
        )
    log_p = answer.logits.float().log_softmax(dim=-1)
    target = smoothed_target(log_p.shape[-1], epsilon, over)
    right = log_p.gather(2, labels[:, :, None])[:, :, 0]
    everywhere = log_p.sum(dim=-1) - (log_p[:, :, PAD] if target.skip_pad else 0.0)
    smoothed = -(target.right - target.rest) * right
    if target.rest:
        smoothed = smoothed - target.rest * everywhere
    real = answer.mask
    return smoothed.masked_fill(~real, 0.0).sum(dim=1), -right.masked_fill(~real, 0.0).sum(dim=1)
