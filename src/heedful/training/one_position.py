"""The loss of one random position of each sentence: what a lecture's training loop does, and what it costs.

Knows no model beyond its last hidden vectors and its output matrix, and draws from torch's generator.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.text.vocabulary import PAD
from heedful.training.objective import Loss, SmoothingOver, label_smoothed_cross_entropy


def one_position_loss(
    hidden: Float[Tensor, "B T D"],
    output_weight: Float[Tensor, "V D"],
    tgt_out: Int[Tensor, "B T"],
    epsilon: float = 0.0,
    over: SmoothingOver = "all",
) -> Loss:
    """T times the loss at one of each sentence's T positions, all as likely: its mean is the loss of all positions, its
    variance is larger. The output layer is computed at one position a sentence only.
    """
    lengths = (tgt_out != PAD).sum(dim=1)
    drawn = torch.rand(len(lengths), device=lengths.device) * lengths
    places = torch.minimum(drawn.long(), lengths - 1)  # a product may be rounded up to T
    return loss_at(hidden, output_weight, tgt_out, places, epsilon, over)


def loss_at(
    hidden: Float[Tensor, "B T D"],
    output_weight: Float[Tensor, "V D"],
    tgt_out: Int[Tensor, "B T"],
    places: Int[Tensor, " B"],
    epsilon: float = 0.0,
    over: SmoothingOver = "all",
) -> Loss:
    """The loss at these positions, each times the length T of its sentence; counted as that of all positions."""
    rows = torch.arange(len(places), device=places.device)
    lengths = (tgt_out != PAD).sum(dim=1)
    read, labels = hidden[rows, places][:, None], tgt_out[rows, places][:, None]  # [B 1 D], [B 1]
    sums = []
    for length in lengths.unique().tolist():
        of_length = lengths == length
        loss = label_smoothed_cross_entropy(read[of_length], output_weight, labels[of_length], epsilon, over)
        sums.append((length * loss.smoothed, length * loss.nll))
    smoothed, nll = (torch.stack(side).sum() for side in zip(*sums, strict=True))
    return Loss(smoothed, nll, int(lengths.sum()))
