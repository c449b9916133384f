"""One vector a position from all layers of a stack. Knows no layer; its softmax is that of attention."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention import softmax, weighted_sum


@final
class LayerMix(nn.Module):
    """gamma sum_l softmax(w)_l h_l: one vector a position from all layers. [Peters 2018, Eq. 1]"""

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(n_layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Float[Tensor, "L B T D"]) -> Float[Tensor, "B T D"]:
        weights = softmax(self.scores[None, None, None], None)  # [1 1 1 L]
        return self.gamma * weighted_sum(weights, layers.flatten(1)[None, None]).view(layers.shape[1:])
