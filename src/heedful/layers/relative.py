"""Relative positions: what self-attention is told of how far a key stands from a query, in four kinds.

Each is one `RelativePositions`, for any length. A distance is the position of the key minus that of the query. Knows no
projections, no masks and no configuration.
"""

import math
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attention.aggregate import Aggregate, weighted_sum
from heedful.attention.relative import RelativePositions, distances
from heedful.attention.scores import scaled_dot
from heedful.layers.position import SinusoidalPositions


@final
class RelativeEmbeddings(RelativePositions):
    """A trained vector for each distance from -k to k; beyond, those at the ends. [Shaw 2018, 3.2, Eq. 3-5]

    a^K is added to keys, so that a query gives each distance a score of its own: e_ij = q_i . (k_j + a^K_ij) /
    sqrt(d_k). a^V is added to values, if a `value_width` is given: z_i = sum_j w_ij (v_j + a^V_ij). The paper has both,
    and finds a^K alone as good in translation [4.3]. All heads share the vectors [3.3].
    """

    def __init__(self, key_width: int, clip: int, value_width: int | None = None) -> None:
        super().__init__()
        self.clip = clip
        self.key = nn.Parameter(torch.empty(2 * clip + 1, key_width))  # a^K
        nn.init.xavier_uniform_(self.key)
        self.value = None if value_width is None else nn.Parameter(torch.empty(2 * clip + 1, value_width))  # a^V
        if self.value is not None:
            nn.init.xavier_uniform_(self.value)

    def bias(self, query: Float[Tensor, "B H T E"], n_keys: int) -> Float[Tensor, "B H T S"]:
        numbers = self._numbers(query.shape[2], n_keys, query.device).expand(*query.shape[:2], -1, -1)
        each = scaled_dot(query.flatten(0, 2)[None, None], self.key[None, None])  # [1 1 BHT 2k+1]
        return each.view(*query.shape[:3], -1).gather(-1, numbers)

    def aggregate(self, n_queries: int, n_keys: int) -> Aggregate:
        return weighted_sum if self.value is None else self._sum_with_distances

    def _sum_with_distances(
        self, weights: Float[Tensor, "B H T S"], value: Float[Tensor, "B H S Ev"]
    ) -> Float[Tensor, "B H T Ev"]:
        assert self.value is not None
        numbers = self._numbers(weights.shape[2], weights.shape[3], weights.device).expand_as(weights)
        of_distance = weights.new_zeros(*weights.shape[:3], len(self.value)).scatter_add(-1, numbers, weights)
        vectors = self.value.to(value.dtype).expand(len(weights), 1, -1, -1)
        return weighted_sum(weights, value) + weighted_sum(of_distance, vectors)

    def _numbers(self, n_queries: int, n_keys: int, device: torch.device) -> Int[Tensor, "T S"]:
        """Return the row of the vector for each query and key."""
        return distances(n_queries, n_keys, device).clamp(-self.clip, self.clip) + self.clip


@final
class BucketedBias(RelativePositions):
    """A trained number for each head and bucket of distances, added to the scores. [Raffel 2020, 2.1]

    All layers of a stack share one. With `causal` all buckets are for keys before the query. Scores stay divided by
    sqrt(d_k), which T5 leaves out.
    """

    def __init__(self, n_heads: int, n_buckets: int, max_distance: int, *, causal: bool) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.weight = nn.Parameter(torch.empty(n_heads, n_buckets))
        nn.init.normal_(self.weight, std=0.02)
        every = range(-max_distance, max_distance + 1)
        buckets = [bucket_of(distance, n_buckets, max_distance, causal=causal) for distance in every]
        self.register_buffer("buckets", torch.tensor(buckets), persistent=False)

    def bias(self, query: Float[Tensor, "B H T E"], n_keys: int) -> Float[Tensor, "1 H T S"]:
        near = distances(query.shape[2], n_keys, query.device).clamp(-self.max_distance, self.max_distance)
        return self.weight[:, self.get_buffer("buckets")[near + self.max_distance]][None]


def bucket_of(distance: int, n_buckets: int, max_distance: int, *, causal: bool) -> int:
    """Return the bucket of a distance: one each for the nearest half, then ever wider ones, the last from
    `max_distance` on. [Raffel 2020, 2.1]

    Half of the buckets are for keys after the query; if `causal`, none: those share the bucket of distance 0.
    """
    first, far = 0, max(-distance, 0)
    if not causal:
        n_buckets //= 2
        first, far = n_buckets * (distance > 0), abs(distance)
    n_exact = n_buckets // 2
    if far < n_exact:
        return first + far
    share = math.log(far / n_exact) / math.log(max_distance / n_exact)
    wider = int(share * (n_buckets - n_exact) + 1e-9)  # where an edge is a whole number, rounding must not miss it
    return first + min(n_exact + wider, n_buckets - 1)


@final
class RotaryPositions(RelativePositions):
    """Queries and keys turned by angles that grow with their position, pair of columns by pair. [Su 2021, Eq. 34]

    A product of two vectors that are turned by p and p' is that of one turned by p - p', so scores depend on distances
    alone. The angles are those of the paper's sinusoids, so that fast columns come first.
    """

    def __init__(self, key_width: int) -> None:
        if key_width % 2:
            raise ValueError(f"`key_width` must be even, since columns are turned in pairs, but is {key_width}.")
        super().__init__()
        self.waves = SinusoidalPositions(key_width, "sinusoidal")

    def rotate(self, x: Float[Tensor, "B H L E"], first: int) -> Float[Tensor, "B H L E"]:
        waves = self.waves(x.shape[2], first)
        sine, cosine = waves[:, 0::2], waves[:, 1::2]  # [L E/2]
        left, right = x[..., 0::2], x[..., 1::2]
        turned = torch.stack([left * cosine - right * sine, left * sine + right * cosine], dim=-1)
        return turned.flatten(-2).to(x.dtype)


@final
class ALiBi(RelativePositions):
    """-m |s - t|: each head sees distant keys less, by a slope m of its own. Nothing is trained. [Press 2022, 3]

    The paper's models only look back. In an encoder the penalty is the same both ways, which is our choice.
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(alibi_slopes(n_heads)), persistent=False)

    def bias(self, query: Float[Tensor, "B H T E"], n_keys: int) -> Float[Tensor, "1 H T S"]:
        far = distances(query.shape[2], n_keys, query.device).abs()
        return -self.get_buffer("slopes")[None, :, None, None] * far


def alibi_slopes(n_heads: int) -> list[float]:
    """Return 2^(-8 i / H) for i = 1 to H: for 8 heads 1/2, 1/4 .. 1/256. [Press 2022, 3]

    Where H is no power of two, as in the authors' code: all of the power below, then every second one of the power
    above.
    """
    below = 1 << (n_heads.bit_length() - 1)
    slopes, finer = ([2.0 ** (-8 * i / n) for i in range(1, n + 1)] for n in (below, 2 * below))
    return slopes + finer[::2][: n_heads - below]
