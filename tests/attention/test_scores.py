"""Scores: hand values, torch's own modules, gradients by finite differences, and why dot products are scaled."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from heedful.attention import (
    Additive,
    Cosine,
    General,
    Location,
    Mask,
    MultiHeadAttention,
    Score,
    attend,
    dot,
    scaled_dot,
)


def pair(seed: int = 0, width: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    query, key = (torch.randn(2, 2, n, width, generator=generator, dtype=torch.float64) for n in (3, 5))
    return query.requires_grad_(), key.requires_grad_()


SCORES: dict[str, Callable[[], Score]] = {
    "dot": lambda: dot,
    "scaled dot": lambda: scaled_dot,
    "cosine": lambda: Cosine(temperature=0.5),
    "general": lambda: General(4, 4).double(),
    "additive": lambda: Additive(4, 4, 3).double(),
    "location": lambda: Location(4, 7).double(),
}
EVERY_SCORE = pytest.mark.parametrize("build", SCORES.values(), ids=SCORES.keys())


@EVERY_SCORE
class TestEveryScore:
    def test_gradients_by_finite_differences(self, build: Callable[[], Score]) -> None:
        """Through score, mask and softmax to the context, an empty row included; parameters too."""
        torch.manual_seed(0)
        score = build()
        parameters = list(score.parameters()) if isinstance(score, nn.Module) else []
        visible = torch.ones(2, 1, 3, 5, dtype=torch.bool).tril(1)
        visible[1, 0, 0] = False

        def context(query: Tensor, key: Tensor, *_: Tensor) -> Tensor:
            return attend(query, key, key, score=score, mask=Mask.full(visible)).context

        assert torch.autograd.gradcheck(context, (*pair(), *parameters))

    def test_each_pair_is_scored_alone(self, build: Callable[[], Score]) -> None:
        torch.manual_seed(0)
        score, (query, key) = build(), pair()
        whole = score(query, key)
        assert whole.shape == (2, 2, 3, 5)
        keys = slice(0, 2) if isinstance(score, Location) else slice(3, 4)  # a place is known by its distance from 0
        torch.testing.assert_close(whole[:, :, 1:2, keys], score(query[:, :, 1:2], key[:, :, keys]))

    def test_each_sentence_and_head_is_scored_alone(self, build: Callable[[], Score]) -> None:
        torch.manual_seed(0)
        score, (query, key) = build(), pair()
        whole = score(query, key)
        torch.testing.assert_close(whole[1:], score(query[1:], key[1:]))
        torch.testing.assert_close(whole[:, 1:], score(query[:, 1:], key[:, 1:]))

    def test_padding_changes_nothing(self, build: Callable[[], Score]) -> None:
        torch.manual_seed(0)
        score, (query, key) = build(), pair()
        padded = torch.cat([key, torch.full((2, 2, 2, 4), 1e3, dtype=torch.float64)], dim=2)
        real = Mask.key_padding(torch.arange(7).expand(2, -1) < 5)
        alone = attend(query, key, key, score=score).context
        torch.testing.assert_close(attend(query, padded, padded, score=score, mask=real).context, alone)

    def test_works_in_heads(self, build: Callable[[], Score]) -> None:
        torch.manual_seed(0)
        attention = MultiHeadAttention(8, 2, score=build()).double()
        x = torch.randn(2, 5, 8, dtype=torch.float64)
        read = attention(x, attention.project(x), weights=True)
        assert read.output.shape == x.shape
        assert read.weights is not None
        torch.testing.assert_close(read.weights.sum(-1), torch.ones(2, 2, 5, dtype=torch.float64))


def test_additive_by_hand() -> None:
    """w = [1, 1], W = I, q = 0, keys [1, 0] and [0, 0]."""
    score = Additive(2, 2, 2)
    with torch.no_grad():
        score.weight.fill_(1)
        for projection in (score.project_query, score.project_key):
            projection.weight.copy_(torch.eye(2))
    key = torch.tensor([[[[1.0, 0], [0, 0]]]])
    read = attend(torch.zeros(1, 1, 1, 2), key, key, score=score)
    torch.testing.assert_close(score(torch.zeros(1, 1, 1, 2), key)[0, 0, 0], torch.tensor([0.761594, 0]))
    assert read.weights is not None
    torch.testing.assert_close(read.weights[0, 0, 0], torch.tensor([0.681700, 0.318300]), atol=1e-6, rtol=0)


def test_additive_is_the_same_as_a_network_on_the_joined_vectors() -> None:
    """w . tanh(W_q q + W_k k) = w . tanh([W_q W_k] [q; k]), the form of [Luong 2015, concat]."""
    torch.manual_seed(0)
    score, (query, key) = Additive(4, 4, 3).double(), pair()
    joined = torch.cat(
        [query[:, :, :, None].expand(-1, -1, -1, 5, -1), key[:, :, None].expand(-1, -1, 3, -1, -1)], dim=-1
    )
    weight = torch.cat([score.project_query.weight, score.project_key.weight], dim=1)
    torch.testing.assert_close(score(query, key), torch.tanh(joined @ weight.T) @ score.weight)


def test_cosine_equals_torch_and_ignores_lengths() -> None:
    query, key = pair()
    expected = torch.cosine_similarity(query[:, :, :, None], key[:, :, None], dim=-1) / 0.5
    torch.testing.assert_close(Cosine(0.5)(query, key), expected)
    torch.testing.assert_close(Cosine(0.5)(query * 7, key * 0.01), expected)


def test_cosine_temperature_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"`temperature` must be positive, but is 0\.0\."):
        Cosine(0.0)


def test_general_equals_torch_bilinear() -> None:
    torch.manual_seed(0)
    score = General(4, 3).double()
    query, key = pair()[0], pair(width=3)[1]
    bilinear = nn.Bilinear(4, 3, 1, bias=False).double()
    with torch.no_grad():
        bilinear.weight.copy_(score.weight[None])
    wide_query = query[:, :, :, None].expand(-1, -1, -1, 5, -1).contiguous()
    wide_key = key[:, :, None].expand(-1, -1, 3, -1, -1).contiguous()
    torch.testing.assert_close(score(query, key), bilinear(wide_query, wide_key)[..., 0])


def test_general_with_identity_is_dot() -> None:
    score, (query, key) = General(4, 4).double(), pair()
    with torch.no_grad():
        score.weight.copy_(torch.eye(4))
    torch.testing.assert_close(score(query, key), dot(query, key))


class TestWhyScale:
    """For independent unit-variance components Var(q . k) = d_k; scaled, it is 1, and the softmax keeps its slope.

    The slope is the mean of 1 - sum p^2 over queries with 10 keys, simulated independently in numpy.
    """

    @pytest.mark.parametrize(("d_k", "slope"), [(4, 0.640), (64, 0.193), (512, 0.066)])
    def test_variance_and_slope(self, d_k: int, slope: float) -> None:
        generator = torch.Generator().manual_seed(d_k)
        query = torch.randn(4000, 1, 1, d_k, generator=generator)
        key = torch.randn(4000, 1, 10, d_k, generator=generator)
        assert dot(query, key).var().item() == pytest.approx(d_k, rel=0.05)
        assert scaled_dot(query, key).var().item() == pytest.approx(1, rel=0.05)
        for score, trace in ((dot, slope), (scaled_dot, 0.805)):
            weights = attend(query, key, key, score=score).weights
            assert weights is not None
            assert (1 - weights.square().sum(-1)).mean().item() == pytest.approx(trace, abs=0.02)


class TestLocation:
    def test_by_hand(self) -> None:
        """Rows [1, 0], [0, 2] and [1, 1] of W for the first three places, whatever stands there."""
        score = Location(2, 4)
        with torch.no_grad():
            score.weight.copy_(torch.tensor([[1.0, 0], [0, 2], [1, 1], [9, 9]]))
        query = torch.tensor([[[[3.0, 5.0]]]])
        for key in (torch.zeros(1, 1, 3, 7), torch.randn(1, 1, 3, 7)):
            torch.testing.assert_close(score(query, key)[0, 0, 0], torch.tensor([3.0, 10, 8]))

    def test_more_keys_than_it_was_made_for(self) -> None:
        with pytest.raises(ValueError, match=r"Location scores were made for 4 keys, but there are 5\."):
            Location(2, 4)(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 5, 2))
