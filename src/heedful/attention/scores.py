"""How well a key answers a query. A score maps queries [B H T E] and keys [B H S E] to [B H T S].

Knows no mask, no softmax and no values. Scores without parameters are functions; the others are modules.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

Score = Callable[[Tensor, Tensor], Tensor]


def dot(query: Float[Tensor, "B H T E"], key: Float[Tensor, "B H S E"]) -> Float[Tensor, "B H T S"]:
    """q . k  [Luong 2015, Eq. 8, dot]"""
    return query @ key.mT


def scaled_dot(query: Float[Tensor, "B H T E"], key: Float[Tensor, "B H S E"]) -> Float[Tensor, "B H T S"]:
    """q . k / sqrt(d_k): unit variance for independent unit-variance components. [Vaswani 2017, 3.2.1, Eq. 1]"""
    return (query * query.shape[-1] ** -0.5) @ key.mT


class Cosine(nn.Module):
    """q . k / (|q| |k| temperature): blind to the length of keys. [Graves 2014, Eq. 6, with beta = 1 / temperature]"""

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        if temperature <= 0:
            raise ValueError(f"`temperature` must be positive, but is {temperature}.")
        self.temperature = temperature

    def forward(self, query: Float[Tensor, "B H T E"], key: Float[Tensor, "B H S E"]) -> Float[Tensor, "B H T S"]:
        unit_query = nn.functional.normalize(query, dim=-1)
        return unit_query @ nn.functional.normalize(key, dim=-1).mT / self.temperature


class General(nn.Module):
    """q W k: queries and keys of different widths. [Luong 2015, Eq. 8, general]"""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(query_width, key_width))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, query: Float[Tensor, "B H T Eq"], key: Float[Tensor, "B H S Ek"]) -> Float[Tensor, "B H T S"]:
        return query @ self.weight @ key.mT


class Additive(nn.Module):
    """w . tanh(W_q q + W_k k). [Bahdanau 2015, A.1.2; there v_a, W_a, U_a]

    Holds [B H T S width] at once, so a long memory costs memory in proportion to T * S * width.
    """

    def __init__(self, query_width: int, key_width: int, width: int) -> None:
        super().__init__()
        self.project_query = nn.Linear(query_width, width, bias=False)
        self.project_key = nn.Linear(key_width, width, bias=False)
        self.weight = nn.Parameter(torch.empty(width))
        nn.init.normal_(self.weight, std=width**-0.5)

    def forward(self, query: Float[Tensor, "B H T Eq"], key: Float[Tensor, "B H S Ek"]) -> Float[Tensor, "B H T S"]:
        pairs = self.project_query(query)[..., :, None, :] + self.project_key(key)[..., None, :, :]  # [B H T S width]
        return torch.tanh(pairs) @ self.weight
