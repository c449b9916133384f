"""Learning where to look by reward: REINFORCE for sampled attention, with a moving-average baseline.

Knows no model: it is given rewards and log-probabilities, and gives what is to be minimised.
"""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn


def reinforce(
    reward: Float[Tensor, " N"], log_p: Float[Tensor, " N"], baseline: Float[Tensor, ""] | float
) -> Float[Tensor, " N"]:
    """Compute -(log p(y|s) - b) log p(s) for each item: to be added to its loss -log p(y|s). [Xu 2015, Eq. 12, lambda_r
    = 1]

    `reward` is log p(y|s) of each item given what was drawn, `log_p` the log-probability of its draws. The factor
    before log p(s) carries no gradient, so that the gradient of the sum of both is an unbiased estimate of that of
    -sum_s p(s) log p(y|s), whatever b is. Who wants the entropy term, -lambda_e H(s), adds it.
    """
    return -(reward.detach() - baseline) * log_p


@final
class MovingBaseline(nn.Module):
    """b = 0.9 b + 0.1 log p(y|s), a running mean of the reward, from 0 on. [Xu 2015, 4.1]

    It is a parameter that no gradient moves, so that it is kept in checkpoints, and training goes on with it.
    """

    def __init__(self, keep: float = 0.9) -> None:
        super().__init__()
        self.keep = keep
        self.value = nn.Parameter(torch.zeros(()), requires_grad=False)

    def forward(self, reward: Float[Tensor, " N"]) -> Float[Tensor, ""]:
        """Return the baseline for these rewards: that of those before, or a bias creeps in. Training takes them in,
        too.
        """
        before = self.value.clone()
        if self.training:
            with torch.no_grad():
                self.value.lerp_(reward.detach().mean().to(self.value), 1 - self.keep)
        return before
