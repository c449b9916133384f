"""Learning where to look by reward: REINFORCE for sampled attention, with a moving-average baseline and entropy.

Knows no model: it is given log-probabilities, and gives a sum to minimise.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor


class Baseline(NamedTuple):
    """b = 0.9 b + 0.1 log p(y | s), a running mean of the reward. [Xu 2015, 4.1]"""

    value: float = 0.0
    keep: float = 0.9

    def update(self, reward: Float[Tensor, " N"]) -> "Baseline":
        """The baseline after a batch of rewards. Use the one before it for the batch itself, or a bias creeps in."""
        return self._replace(value=self.keep * self.value + (1 - self.keep) * float(reward.detach().mean()))


def reinforce(
    reward: Float[Tensor, " N"],
    log_p: Float[Tensor, " N"],
    entropy: Float[Tensor, " N"],
    baseline: float,
    *,
    reward_weight: float = 1.0,
    entropy_weight: float = 0.0,
) -> Float[Tensor, ""]:
    """-sum [ log p(y|s) + lambda_r (log p(y|s) - b) log p(s) + lambda_e H(s) ], summed over items. [Xu 2015, Eq. 12]

    `reward` is log p(y|s) of each item given what was drawn, `log_p` the log-probability of its draws, `entropy` theirs
    (nats; add up the reads of one item). The factor before log p(s) carries no gradient, so that the gradient is an
    unbiased estimate of that of sum_s p(s) log p(y|s), whatever b is, as long as lambda_r = 1 and lambda_e = 0. The
    authors' code uses lambda_e = 0.002.
    """
    advantage = reward.detach() - baseline
    return -(reward + reward_weight * advantage * log_p + entropy_weight * entropy).sum()
