"""What training minimises: label-smoothed cross-entropy as a sum and a count, never a mean.

Knows of a model its last hidden vectors and its output matrix. Padding (id 0 in `tgt_out`) carries no loss.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heedful.data.batch import Batch
from heedful.models.interface import Model
from heedful.text.vocabulary import PAD
from heedful.training.config import TrainingConfig

SmoothingOver = Literal["all", "others", "non_pad"]
CHUNK_ELEMENTS = 4_000_000  # logits held at once: rows of a chunk times V


class Loss(NamedTuple):
    """Sums over `count` predicted tokens, in nats. `nll` is without smoothing: perplexity = exp(nll / count)."""

    smoothed: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    count: int


def perplexity(nll: float) -> float:
    """Return exp(nll) of nats a token; a loss of more than 700 counts as 700."""
    return math.exp(min(nll, 700.0))  # exp(710) is no float


class ReplacedInputs(NamedTuple):
    """Input tokens of the decoder, BOS apart: how many there were, how many a prediction replaced, and how many of
    these then were another token than the gold one.
    """

    inputs: int = 0
    replaced: int = 0
    changed: int = 0


def in_precision(config: TrainingConfig, device: torch.device) -> torch.autocast:
    """Compute what stands in this context in the precision of training."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=config.precision == "bfloat16")


class Objective(ABC):
    """Objective that training minimises for one task and its settings; float32 sums whatever the precision."""

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config

    @abstractmethod
    def loss(self, model: Model, batch: Batch) -> Loss:
        """Compute the loss of a batch over all its output positions."""

    def training_loss(self, model: Model, batch: Batch, update: int) -> tuple[Loss, ReplacedInputs]:
        """Compute the loss that this update, from 1, is made of."""
        return self.loss(model, batch), ReplacedInputs()

    def uniform_loss(self, model: Model) -> float:
        """Return the loss of a uniform guess, nats a token; infinite where it depends on more than the vocabulary."""
        return math.inf


class SmoothedTarget(NamedTuple):
    """The smoothed target distribution: `right` on the true class, `rest` on the others, 0 on padding if `skip_pad`."""

    right: float
    rest: float
    skip_pad: bool


def smoothed_target(n_classes: int, epsilon: float, over: SmoothingOver) -> SmoothedTarget:
    """Return the smoothed target distribution, by one of three conventions of who shares epsilon.

    They are "all" V classes (the true one keeps 1 - epsilon + epsilon / V; torch), the V - 1 "others" (tensor2tensor),
    or the V - 2 others that are not padding ("non_pad"; the Annotated Transformer). [Szegedy 2016, section 7;
    Vaswani 2017, 5.4]
    """
    sharers = {"all": n_classes, "others": n_classes - 1, "non_pad": n_classes - 2}[over]
    if sharers < 1:
        raise ValueError(f"`{over}` smoothing needs more than {n_classes} classes.")
    rest = epsilon / sharers
    return SmoothedTarget(1 - epsilon + (rest if over == "all" else 0.0), rest, over == "non_pad")


def label_smoothed_cross_entropy(
    hidden: Float[Tensor, "B T D"],
    output_weight: Float[Tensor, "V D"],
    tgt_out: Int[Tensor, "B T"],
    epsilon: float = 0.0,
    over: SmoothingOver = "all",
) -> Loss:
    """Compute -sum q log softmax(hidden @ output_weight^T) over the real target tokens, with q from `smoothed_target`.

    The product, the softmax and their gradient go through [chunk V] pieces, so [B T V] is never held.
    """
    real = tgt_out != PAD
    rows, labels = hidden[real], tgt_out[real]  # [M D], [M]
    target = smoothed_target(len(output_weight), epsilon, over)
    wanted = torch.is_grad_enabled() and (rows.requires_grad or output_weight.requires_grad)
    smoothed, nll = _ChunkedCrossEntropy.apply(rows, output_weight, labels, target, wanted)
    return Loss(smoothed, nll.detach(), len(labels))


class _ChunkedCrossEntropy(torch.autograd.Function):
    """d loss / d logits = softmax(logits) - q, so each chunk's gradient is made while its logits are there.

    Each element of the logits is read and written as seldom as possible: one exponential, in place; the softmax's
    denominator divides the [chunk D] side of both products; and what smoothing gives to all classes alike, being
    linear in the logits, is taken from the sum of the output matrix's rows.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, labels: Tensor, target: SmoothedTarget, wanted: bool
    ) -> tuple[Tensor, Tensor]:
        device = rows.device.type
        low = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        columns = weight.to(low)
        everywhere = weight.sum(dim=0) - (weight[PAD] if target.skip_pad else 0.0)  # [D]
        grad_rows = torch.empty_like(rows) if wanted else None
        grad_weight = torch.zeros_like(weight) if wanted else None
        smoothed, nll = weight.new_zeros(()), weight.new_zeros(())
        size = max(1, CHUNK_ELEMENTS // len(weight))
        for start in range(0, len(rows), size):
            piece = slice(start, start + size)
            some, right = rows[piece].to(low), labels[piece, None]
            logits = nn.functional.linear(some, columns).to(weight.dtype)  # [chunk V]; sums are never in bfloat16
            z_right = logits.gather(1, right)
            top = logits.amax(dim=-1, keepdim=True)
            total = logits.sub_(top).exp_().sum(dim=-1, keepdim=True)  # the logits are exp(logits - top) from here on
            log_total = top + total.log()
            nll += (log_total - z_right).sum()
            smoothed += (log_total - (target.right - target.rest) * z_right).sum()
            if grad_rows is None or grad_weight is None:
                continue
            logits.scatter_add_(1, right, (target.rest - target.right) * total)
            slope = logits.to(low)
            grad_rows[piece] = (slope @ columns) / total
            grad_weight += (slope.mT @ (some / total).to(low)).to(weight.dtype)
        read = rows.sum(dim=0, dtype=weight.dtype)
        smoothed -= target.rest * (read @ everywhere)
        if grad_rows is not None and grad_weight is not None:
            grad_rows -= target.rest * everywhere
            grad_weight[PAD + 1 if target.skip_pad else 0 :] -= target.rest * read
        ctx.save_for_backward(grad_rows, grad_weight)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        grad_rows, grad_weight = ctx.saved_tensors
        return grads[0] * grad_rows, grads[0] * grad_weight, None, None, None


def one_position_loss(
    hidden: Float[Tensor, "B T D"],
    output_weight: Float[Tensor, "V D"],
    tgt_out: Int[Tensor, "B T"],
    epsilon: float = 0.0,
    over: SmoothingOver = "all",
) -> Loss:
    """Compute T times the loss at one random position of each sentence's T positions: its mean is the loss of all
    positions, its variance is larger. The output layer is computed at one position a sentence only.
    """
    lengths = (tgt_out != PAD).sum(dim=1)
    drawn = torch.rand(len(lengths), device=lengths.device) * lengths
    positions = torch.minimum(drawn.long(), lengths - 1)  # a product may be rounded up to T
    return loss_at(hidden, output_weight, tgt_out, positions, epsilon, over)


def loss_at(
    hidden: Float[Tensor, "B T D"],
    output_weight: Float[Tensor, "V D"],
    tgt_out: Int[Tensor, "B T"],
    positions: Int[Tensor, " B"],
    epsilon: float = 0.0,
    over: SmoothingOver = "all",
) -> Loss:
    """Compute the loss at these positions, each times the length T of its sentence,
    counted as that of all positions.
    """
    rows = torch.arange(len(positions), device=positions.device)
    lengths = (tgt_out != PAD).sum(dim=1)
    read, labels = hidden[rows, positions][:, None], tgt_out[rows, positions][:, None]  # [B 1 D], [B 1]
    sums = []
    for length in lengths.unique().tolist():
        of_length = lengths == length
        loss = label_smoothed_cross_entropy(read[of_length], output_weight, labels[of_length], epsilon, over)
        sums.append((length * loss.smoothed, length * loss.nll))
    smoothed, nll = (torch.stack(side).sum() for side in zip(*sums, strict=True))
    return Loss(smoothed, nll, int(lengths.sum()))
