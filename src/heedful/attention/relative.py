"""What self-attention may be told of positions: the seam that every kind of relative position fills.

A kind turns queries and keys by where they stand, adds a bias to the scores, or adds to what is read: whichever it
needs, and nothing of the others. The kinds are in `heedful.layers.relative`. Knows no projections and no masks.
"""

from abc import ABC

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attention.aggregate import Aggregate, weighted_sum


class RelativePositions(nn.Module, ABC):
    """Keys stand at positions 0 to S - 1, and the T queries at the last T of them.

    So a whole sequence (T = S) and one decoding step (T = 1) are the same call.
    """

    def rotate(self, x: Float[Tensor, "B H L E"], first: int) -> Float[Tensor, "B H L E"]:
        """Return queries or keys as they are at positions `first` to first + L - 1; by default unchanged."""
        return x

    def bias(self, query: Float[Tensor, "B H T E"], n_keys: int) -> Float[Tensor, "B_or_1 H_or_1 T S"] | None:
        """Return what is added to the scores of these queries; by default nothing."""
        return None

    def aggregate(self, n_queries: int, n_keys: int) -> Aggregate:
        """Return what is made of weights and values; by default their weighted sum."""
        return weighted_sum


def distances(n_queries: int, n_keys: int, device: torch.device) -> Int[Tensor, "T S"]:
    """Return the position of each key minus that of each query, where the queries stand at the last T positions."""
    keys = torch.arange(n_keys, device=device)
    return keys - keys[n_keys - n_queries :, None]
