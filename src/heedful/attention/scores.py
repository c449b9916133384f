"""How well a key answers a query. A score maps queries [B H T E] and keys [B H S E] to [B H T S].

A score with one number for each feature gives the features as heads, [B HE T S], so that masks and normalisers work as
always, along the keys; `elementwise` puts them together again. Knows no mask, no softmax and no values. Scores without
parameters are functions; the others are modules.
"""

from collections.abc import Callable
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention.shapes import check_same_width, check_width

Score = Callable[[Tensor, Tensor], Tensor]


def dot(query: Float[Tensor, "B H T E"], key: Float[Tensor, "B H S E"]) -> Float[Tensor, "B H T S"]:
    """Return q . k. [Luong 2015, 3.1, dot]"""
    check_same_width(query, key)
    return query @ key.mT


def scaled_dot(query: Float[Tensor, "B H T E"], key: Float[Tensor, "B H S E"]) -> Float[Tensor, "B H T S"]:
    """Return q . k / sqrt(d_k): unit variance for independent components of unit variance. [Vaswani
    2017, 3.2.1, Eq. 1]
    """
    check_same_width(query, key)
    return (query * query.shape[-1] ** -0.5) @ key.mT


class Cosine(nn.Module):
    """q . k / (|q| |k| temperature): blind to the length of keys. [Graves 2014, Eq. 6, with beta = 1 / temperature]"""

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        if temperature <= 0:
            raise ValueError(f"`temperature` must be positive, but is {temperature}.")
        self.temperature = temperature

    def forward(self, query: Float[Tensor, "B H T E"], key: Float[Tensor, "B H S E"]) -> Float[Tensor, "B H T S"]:
        check_same_width(query, key)
        unit_query = nn.functional.normalize(query, dim=-1)
        return unit_query @ nn.functional.normalize(key, dim=-1).mT / self.temperature


class General(nn.Module):
    """q W k: queries and keys of different widths. [Luong 2015, 3.1, general]"""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(query_width, key_width))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, query: Float[Tensor, "B H T Eq"], key: Float[Tensor, "B H S Ek"]) -> Float[Tensor, "B H T S"]:
        for name, tensor, width in (("query", query, self.weight.shape[0]), ("key", key, self.weight.shape[1])):
            check_width(name, tensor, width, "the weight of General")
        return query @ self.weight @ key.mT


class Additive(nn.Module):
    """w . tanh(W_q q + W_k k). [Bahdanau 2015, A.1.2; there v_a, W_a, U_a. Luong 2015, 3.1, concat: W = [W_q W_k]]

    Holds [B H T S width] at once, so a long memory costs memory in proportion to T * S * width.
    """

    def __init__(self, query_width: int, key_width: int, width: int) -> None:
        super().__init__()
        self.widths = query_width, key_width
        self.project_query = nn.Linear(query_width, width, bias=False)
        self.project_key = nn.Linear(key_width, width, bias=False)
        self.weight = nn.Parameter(torch.empty(width))
        nn.init.normal_(self.weight, std=width**-0.5)

    def forward(self, query: Float[Tensor, "B H T Eq"], key: Float[Tensor, "B H S Ek"]) -> Float[Tensor, "B H T S"]:
        for name, tensor, width in (("query", query, self.widths[0]), ("key", key, self.widths[1])):
            check_width(name, tensor, width, "the projection of Additive")
        return self.match(query, self.project_key(key))

    def match(self, query: Float[Tensor, "B H T Eq"], keys: Float[Tensor, "B H S W"]) -> Float[Tensor, "B H T S"]:
        """Score queries against keys that `project_key` has already projected, once for all queries."""
        pairs = self.project_query(query)[..., :, None, :] + keys[..., None, :, :]  # [B H T S W]
        return torch.tanh(pairs) @ self.weight


@final
class Location(nn.Module):
    """W q, a row for each position: keys count only by how many they are. [Luong 2015, Eq. 8, location]"""

    def __init__(self, query_width: int, max_keys: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_keys, query_width))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, query: Float[Tensor, "B H T Eq"], key: Float[Tensor, "B H S Ek"]) -> Float[Tensor, "B H T S"]:
        n_keys = key.shape[2]
        if n_keys > len(self.weight):
            raise ValueError(f"Location scores were made for {len(self.weight)} keys, but there are {n_keys}.")
        return query @ self.weight[:n_keys].mT


@final
class FeatureWise(nn.Module):
    """c tanh((W_q q + W_k k + b) / c): a score for each of E features, in [-c, c]. [Shen 2018, 3.3; its 3.2 has W tanh]

    Holds [B HE T S]: a long memory costs memory in proportion to T * S * E.
    """

    def __init__(self, width: int, bound: float = 5.0) -> None:
        super().__init__()
        self.bound = bound
        self.project_query = nn.Linear(width, width)
        self.project_key = nn.Linear(width, width, bias=False)

    def forward(self, query: Float[Tensor, "B H T E"], key: Float[Tensor, "B H S E"]) -> Float[Tensor, "B HE T S"]:
        pairs = self.project_query(query).mT[..., :, None] + self.project_key(key).mT[..., None, :]  # [B H E T S]
        return (self.bound * torch.tanh(pairs / self.bound)).flatten(1, 2)


@final
class SourceToToken(nn.Module):
    """W elu(W_1 k + b_1) + b: feature-wise, of the keys alone. [Shen 2018, 3.2, source2token]"""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width)

    def forward(self, query: Float[Tensor, "B H T E"], key: Float[Tensor, "B H S E"]) -> Float[Tensor, "B HE T S"]:
        rows = self.outer(nn.functional.elu(self.inner(key))).mT[:, :, :, None]  # [B H E 1 S]
        return rows.expand(-1, -1, -1, query.shape[2], -1).flatten(1, 2)


@final
class CoupledTensor(nn.Module):
    """v . GRU([f(h G u) : f(h D u')]), h a key: two heads, each reading with its own u and the other's u'. [Wang 2017]

    G and D hold K bilinear forms for each head, f is tanh; the authors' code has none (`squash=nn.Identity()`). Head 0
    is the aspects', head 1 the opinions'. `other` = 0 uncouples them. Keys are read left to right, so padding
    belongs at the end.
    """

    def __init__(self, width: int, n_forms: int, squash: Callable[[Tensor], Tensor] = torch.tanh) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.empty(2, n_forms, width, width))
        self.other = nn.Parameter(torch.empty(2, n_forms, width, width))
        self.squash = squash
        self.read = nn.ModuleList(nn.GRU(2 * n_forms, 2 * n_forms, batch_first=True) for _ in range(2))
        self.weight = nn.Parameter(torch.empty(2, 2 * n_forms))
        for parameter in (self.own, self.other, self.weight):
            nn.init.uniform_(parameter, -0.2, 0.2)

    def features(self, query: Float[Tensor, "B 2 1 E"], key: Float[Tensor, "B 2 S E"]) -> Float[Tensor, "B 2 S twoK"]:
        """Return r, from which the labels of the keys are also predicted."""
        pairs: list[Tensor] = []
        for forms, u in ((self.own, query), (self.other, query.flip(1))):
            sought = u[:, :, 0].transpose(0, 1) @ forms.flatten(1, 2).mT  # [2 B KE]
            sought = sought.unflatten(-1, (forms.shape[1], forms.shape[2])).transpose(0, 1)  # [B 2 K E]
            pairs.append(self.squash(key @ sought.mT))  # [B 2 S K]
        joined = torch.cat(pairs, dim=-1)
        return torch.stack([gru(joined[:, head])[0] for head, gru in enumerate(self.read)], dim=1)

    def forward(self, query: Float[Tensor, "B 2 1 E"], key: Float[Tensor, "B 2 S E"]) -> Float[Tensor, "B 2 1 S"]:
        return self.weight[:, None] @ self.features(query, key).mT
