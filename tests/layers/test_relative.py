"""Relative positions against loops over single numbers, values worked out by hand, and their laws."""

import cmath
import math

import pytest
import torch
from torch import Tensor

from heedful.attention import KeyValue, MultiHeadAttention, RelativePositions, attend, scaled_dot
from heedful.layers.position import SinusoidalPositions, sinusoids
from heedful.layers.relative import (
    ALiBi,
    BucketedBias,
    RelativeEmbeddings,
    RotaryPositions,
    alibi_slopes,
    bucket_of,
)

B, H, E, V = 2, 3, 4, 5


def tensors(n_queries: int, n_keys: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((B, H, n_queries, E), (B, H, n_keys, E), (B, H, n_keys, V))
    query, key, value = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return query, key, value


def every_kind() -> dict[str, RelativePositions]:
    torch.manual_seed(1)
    kinds: dict[str, RelativePositions] = {
        "relative": RelativeEmbeddings(E, 2),
        "relative, with values": RelativeEmbeddings(E, 2, V),
        "t5": BucketedBias(H, 8, 6, causal=False),
        "t5, causal": BucketedBias(H, 8, 6, causal=True),
        "rotary": RotaryPositions(E),
        "alibi": ALiBi(H),
    }
    return {name: kind.double() for name, kind in kinds.items()}


KINDS = every_kind()
EVERY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
# The sines of rotary positions are rounded to float32, so what they turn is exact to 7 digits.
CLOSE = {"atol": 1e-6, "rtol": 1e-6}


def scores(kind: RelativePositions, query: Tensor, key: Tensor) -> Tensor:
    """What attention compares, before its softmax."""
    n_queries, n_keys = query.shape[2], key.shape[2]
    turned = kind.rotate(query, n_keys - n_queries)
    plain, bias = scaled_dot(turned, kind.rotate(key, 0)), kind.bias(turned, n_keys)
    return plain if bias is None else plain + bias


@EVERY_KIND
class TestEveryKind:
    def test_depends_on_distances_alone(self, kind: RelativePositions) -> None:
        """One query and one key, put anywhere: all pairs with the same distance have the same score."""
        query, key, _ = tensors(1, 1)
        found = scores(kind, query.expand(-1, -1, 9, -1), key.expand(-1, -1, 9, -1))
        for distance in range(-8, 9):
            same = found.diagonal(distance, dim1=2, dim2=3)
            torch.testing.assert_close(same, same[..., :1].expand_as(same), **CLOSE)

    def test_one_step_is_the_last_row_of_the_whole(self, kind: RelativePositions) -> None:
        query, key, value = tensors(7, 7)
        whole, last = scores(kind, query, key), scores(kind, query[:, :, 6:], key)
        torch.testing.assert_close(last, whole[:, :, 6:])
        weights = whole.softmax(-1)
        read = kind.aggregate(7, 7)(weights, value)
        torch.testing.assert_close(kind.aggregate(1, 7)(weights[:, :, 6:], value), read[:, :, 6:])

    def test_a_prefix_of_the_keys_has_the_scores_that_it_had(self, kind: RelativePositions) -> None:
        query, key, _ = tensors(7, 7)
        whole, begun = scores(kind, query, key), scores(kind, query[:, :, :4], key[:, :, :4])
        torch.testing.assert_close(begun, whole[:, :, :4, :4])

    def test_tells_order(self, kind: RelativePositions) -> None:
        query, key, _ = tensors(1, 1)
        found = scores(kind, query.expand(-1, -1, 5, -1), key.expand(-1, -1, 5, -1))
        assert not torch.allclose(found[..., 4, 3], found[..., 4, 0])

    def test_gradients_are_those_of_finite_differences(self, kind: RelativePositions) -> None:
        query, key, value = (part.requires_grad_() for part in tensors(3, 4))
        parameters = [parameter.detach().requires_grad_() for parameter in kind.parameters()]

        def read(query: Tensor, key: Tensor, value: Tensor, *given: Tensor) -> Tensor:
            names = [name for name, _ in kind.named_parameters()]

            def call(kind: RelativePositions) -> Tensor:
                return kind.aggregate(3, 4)(scores(kind, query, key).softmax(-1), value)

            return torch.func.functional_call(
                _Calling(kind, call), {f"kind.{n}": p for n, p in zip(names, given, strict=True)}
            )

        assert torch.autograd.gradcheck(read, (query, key, value, *parameters), atol=1e-6)

    def test_is_of_any_length_and_keeps_nothing(self, kind: RelativePositions) -> None:
        query, key, _ = tensors(1, 3000)
        assert scores(kind, query, key).isfinite().all()
        assert set(kind.state_dict()) == {name for name, _ in kind.named_parameters()}


class _Calling(torch.nn.Module):
    """A module whose forward is a function of another, for `functional_call`."""

    def __init__(self, kind: RelativePositions, call) -> None:
        super().__init__()
        self.kind, self.call = kind, call

    def forward(self) -> Tensor:
        return self.call(self.kind)


class TestRelativeEmbeddings:
    @torch.no_grad()
    @pytest.mark.parametrize("n_queries", [1, 4, 6])
    def test_equations_3_to_5_by_loops(self, n_queries: int) -> None:
        """e_ij = q_i . (k_j + a^K_ij) / sqrt(d_k), z_i = sum_j softmax_j(e_i) (v_j + a^V_ij), number by number."""
        query, key, value = tensors(n_queries, 6)
        kind = KINDS["relative, with values"]
        assert isinstance(kind, RelativeEmbeddings)
        assert kind.value is not None
        found = attend(
            query, key, value, score=scaled_dot, bias=kind.bias(query, 6), aggregate=kind.aggregate(n_queries, 6)
        )
        for b in range(B):
            for h in range(H):
                for t in range(n_queries):
                    rows = [min(max(s - (6 - n_queries + t), -2), 2) + 2 for s in range(6)]  # w^K_{-2} .. w^K_2
                    e = [
                        sum(float(query[b, h, t, c] * (key[b, h, s, c] + kind.key[rows[s], c])) for c in range(E))
                        / E**0.5
                        for s in range(6)
                    ]
                    total = sum(math.exp(number) for number in e)
                    for c in range(V):
                        z = sum(
                            math.exp(e[s]) / total * float(value[b, h, s, c] + kind.value[rows[s], c]) for s in range(6)
                        )
                        assert float(found.context[b, h, t, c]) == pytest.approx(z, abs=1e-12)

    def test_beyond_the_clip_all_distances_are_one(self) -> None:
        query, _, _ = tensors(1, 1)
        bias = KINDS["relative"].bias(query.expand(-1, -1, 9, -1), 9)
        assert bias is not None
        bias = bias.detach()
        assert torch.equal(bias[..., 8, :7], bias[..., 8, 6:7].expand(-1, -1, 7))  # keys 2 to 8 positions before
        assert torch.equal(bias[..., 0, 2:], bias[..., 0, 2:3].expand(-1, -1, 7))
        assert len({round(float(number), 9) for number in bias[0, 0, 4]}) == 5  # -2, -1, 0, 1, 2

    def test_values_are_left_out_unless_asked_for(self) -> None:
        plain = RelativeEmbeddings(E, 2)
        assert [name for name, _ in plain.named_parameters()] == ["key"]
        weights, value = torch.rand(1, 1, 2, 2), torch.rand(1, 1, 2, V)
        torch.testing.assert_close(plain.aggregate(2, 2)(weights, value), weights @ value)


class TestBucketedBias:
    def test_causal_buckets_by_hand(self) -> None:
        """32 buckets to 128: 0 to 15 alone; then 16 (128 / 16)^(i / 16) = 16 * 2^(3 i / 16) begins bucket 16 + i."""
        edges = [math.ceil(16 * 2 ** (3 * i / 16) - 1e-9) for i in range(16)]
        assert edges == [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
        for distance in range(16):
            assert bucket_of(-distance, 32, 128, causal=True) == distance
        for number, edge in enumerate(edges, start=16):
            assert bucket_of(-edge, 32, 128, causal=True) == number
            assert bucket_of(-edge + 1, 32, 128, causal=True) == number - 1
        assert {bucket_of(-distance, 32, 128, causal=True) for distance in (113, 127, 128, 129, 10**6)} == {31}
        assert {bucket_of(distance, 32, 128, causal=True) for distance in (0, 1, 2, 500)} == {0}

    def test_both_ways_by_hand(self) -> None:
        """16 for each side: 0 to 7 alone, then 8 (128 / 8)^(i / 8) = 8 * 2^(i / 2) begins bucket 8 + i."""
        edges = {8: 8, 12: 9, 16: 10, 23: 11, 32: 12, 46: 13, 64: 14, 91: 15, 128: 15, 10**6: 15}
        for edge, number in edges.items():
            assert bucket_of(-edge, 32, 128, causal=False) == number
            assert bucket_of(edge, 32, 128, causal=False) == 16 + number
        for before, number in {11: 8, 15: 9, 22: 10, 31: 11, 45: 12, 63: 13, 90: 14}.items():
            assert bucket_of(-before, 32, 128, causal=False) == number
        assert [bucket_of(distance, 32, 128, causal=False) for distance in range(-3, 4)] == [3, 2, 1, 0, 17, 18, 19]

    @pytest.mark.parametrize("causal", [True, False])
    @pytest.mark.parametrize(("n_buckets", "farthest"), [(32, 128), (64, 256), (16, 40), (8, 6)])
    def test_equals_transformers(self, n_buckets: int, farthest: int, causal: bool) -> None:
        """Its T5 computes buckets from logarithms in float32."""
        theirs = pytest.importorskip("transformers.models.t5.modeling_t5").T5Attention._relative_position_bucket
        every = torch.arange(-400, 401)
        wanted = theirs(every, bidirectional=not causal, num_buckets=n_buckets, max_distance=farthest)
        found = [bucket_of(distance, n_buckets, farthest, causal=causal) for distance in every.tolist()]
        assert found == wanted.tolist()

    def test_is_the_number_of_head_and_bucket(self) -> None:
        kind = KINDS["t5"]
        assert isinstance(kind, BucketedBias)
        query, _, _ = tensors(2, 5)
        bias = kind.bias(query, 5)
        assert bias.shape == (1, H, 2, 5)
        for h in range(H):
            for t in range(2):
                for s in range(5):
                    assert bias[0, h, t, s] == kind.weight[h, bucket_of(s - (3 + t), 8, 6, causal=False)]


class TestRotaryPositions:
    def test_equation_34_by_complex_numbers(self) -> None:
        """A pair of columns is a complex number, at position m times e^(i m theta_i), theta_i = 10000^(-2(i-1)/d)."""
        x, _, _ = tensors(5, 5)
        turned = KINDS["rotary"].rotate(x, 3)
        for m in range(5):
            for pair in range(E // 2):
                theta = 10000.0 ** (-2 * pair / E)
                for b in range(B):
                    for h in range(H):
                        number = complex(x[b, h, m, 2 * pair], x[b, h, m, 2 * pair + 1]) * cmath.exp(
                            1j * (3 + m) * theta
                        )
                        assert float(turned[b, h, m, 2 * pair]) == pytest.approx(number.real, abs=1e-6)
                        assert float(turned[b, h, m, 2 * pair + 1]) == pytest.approx(number.imag, abs=1e-6)

    def test_keeps_lengths_and_the_first_position(self) -> None:
        x, _, _ = tensors(9, 9)
        turned = KINDS["rotary"].rotate(x, 0)
        torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1), **CLOSE)
        assert torch.equal(turned[:, :, 0], x[:, :, 0])

    def test_keys_that_are_kept_stay_where_they_were(self) -> None:
        """Rotated one by one at their own positions, beyond the rows that are ready, or all at once."""
        x, kind = tensors(6, 6)[0], RotaryPositions(E).double()
        first = SinusoidalPositions.READY - 3
        apart = torch.cat([kind.rotate(x[:, :, at : at + 1], first + at) for at in range(6)], dim=2)
        assert torch.equal(apart, kind.rotate(x, first))

    def test_narrow_numbers_are_turned_exactly_and_then_rounded(self) -> None:
        x = tensors(6, 6)[0]
        exact = RotaryPositions(E).rotate(x.bfloat16().float(), 700).bfloat16()
        narrow = RotaryPositions(E).rotate(x.bfloat16(), 700)
        assert narrow.dtype == torch.bfloat16
        assert torch.equal(narrow, exact)

    def test_an_odd_width_is_refused(self) -> None:
        with pytest.raises(ValueError, match="`key_width` must be even, since columns are turned in pairs, but is 5"):
            RotaryPositions(5)


class TestALiBi:
    def test_slopes_of_the_paper(self) -> None:
        """8 heads: 1/2 .. 1/2^8; 16 heads: with the geometric means between them, from 2^-0.5 on."""
        assert alibi_slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
        assert alibi_slopes(16) == pytest.approx([2 ** (-i / 2) for i in range(1, 17)])
        assert alibi_slopes(1) == [1 / 256]

    def test_slopes_between_powers_of_two(self) -> None:
        """12 heads: the 8 of 8 heads, then the 1st, 3rd, 5th and 7th of 16 heads."""
        assert alibi_slopes(12) == pytest.approx([*alibi_slopes(8), 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])
        assert all(len(alibi_slopes(n)) == len(set(alibi_slopes(n))) == n for n in range(1, 40))

    def test_by_hand(self) -> None:
        bias = ALiBi(2).bias(torch.zeros(1, 2, 2, 4), 4)
        steps = torch.tensor([[2.0, 1, 0, 1], [3, 2, 1, 0]])  # the queries stand at 2 and 3
        torch.testing.assert_close(bias, -torch.stack([steps / 16, steps / 256])[None])

    def test_far_keys_are_seen_less_and_both_ways_alike(self) -> None:
        bias = ALiBi(4).bias(torch.zeros(1, 4, 9, E), 9)[0]
        assert (bias[:, 8].diff(dim=-1) > 0).all()
        assert torch.equal(bias, bias.mT)


def test_without_relative_positions_nothing_is_told() -> None:
    """The part's own methods leave all as it is."""

    class Nothing(RelativePositions):
        pass

    attention, x = MultiHeadAttention(8, 2), torch.randn(2, 5, 8)
    told = attention(x, attention.project(x, Nothing()), relative=Nothing()).output
    assert torch.equal(told, attention(x, attention.project(x)).output)


def test_sinusoids_from_any_position_on() -> None:
    for layout in ("sinusoidal", "t2t"):
        assert torch.equal(sinusoids(3, 6, layout, first=5), sinusoids(8, 6, layout)[5:])


def test_a_memory_knows_its_length() -> None:
    assert KeyValue(torch.zeros(1, 2, 7, 3), torch.zeros(1, 2, 7, 3)).length == 7
