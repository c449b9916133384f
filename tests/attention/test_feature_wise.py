"""Scores with a number for each feature [Shen 2018]: features are heads, so masks and normalisers work as always."""

import pytest
import torch
from tests.attention.tables import REAL, B, S
from torch import Tensor

from heedful.attention import (
    Additive,
    FeatureWise,
    Mask,
    Score,
    SourceToToken,
    Sparsemax,
    attend,
    elementwise,
)

E = 3


def words(heads: int = 1, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(B, heads, S, E, generator=generator, dtype=torch.float64, requires_grad=True)


def build(kind: type[FeatureWise] | type[SourceToToken]) -> FeatureWise | SourceToToken:
    torch.manual_seed(1)
    return kind(E).double()


BOTH = pytest.mark.parametrize("kind", [FeatureWise, SourceToToken])


def given_scores(logits: Tensor) -> Score:
    """Logits [S D] as the scores of one query: [1 D 1 S]."""
    return lambda query, key: logits.T[None, :, None]


class TestByHand:
    X = torch.tensor([[[[1.0, 2], [3, 4], [5, 6]]]], dtype=torch.float64)

    def test_each_feature_has_its_own_weights(self) -> None:
        logits = torch.tensor([[0.0, 1], [1, 0], [2, -1]], dtype=torch.float64)
        read = attend(self.X[:, :, :1], self.X, self.X, score=given_scores(logits), aggregate=elementwise)
        expected = [[0.090031, 0.244728, 0.665241], [0.665241, 0.244728, 0.090031]]
        assert read.weights is not None
        torch.testing.assert_close(read.weights[0, :, 0], torch.tensor(expected).double(), atol=1e-6, rtol=0)
        torch.testing.assert_close(
            read.context[0, 0, 0], torch.tensor([4.150421, 2.849579]).double(), atol=1e-6, rtol=0
        )

    def test_equal_features_are_scalar_attention(self) -> None:
        logits = torch.tensor([[0.0, 0], [1, 1], [2, 2]], dtype=torch.float64)
        read = attend(self.X[:, :, :1], self.X, self.X, score=given_scores(logits), aggregate=elementwise)
        torch.testing.assert_close(
            read.context[0, 0, 0], torch.tensor([4.150421, 5.150421]).double(), atol=1e-6, rtol=0
        )

    def test_token_to_token(self) -> None:
        """W = I, b = 0, c = 5: 5 tanh((q + k) / 5)."""
        score = FeatureWise(2)
        with torch.no_grad():
            score.project_query.weight.copy_(torch.eye(2))
            score.project_query.bias.zero_()
            score.project_key.weight.copy_(torch.eye(2))
        query, key = torch.tensor([[[[1.0, 100]]]]), torch.tensor([[[[2.0, 0], [-1, -300]]]])
        expected = torch.tensor([[5 * 0.5370495669980353, 0.0], [5.0, -5.0]])  # tanh(3 / 5); features x keys
        torch.testing.assert_close(score(query, key)[0, :, 0], expected)


@pytest.mark.parametrize("heads", [1, 2])
@BOTH
def test_equals_the_sum_written_out(kind: type, heads: int) -> None:
    score, x = build(kind), words(heads)
    context = attend(x, x, x, score=score, aggregate=elementwise).context
    scores = score(x, x).view(B, heads, E, S, S)
    for t in range(S):
        for e in range(E):
            p = scores[:, :, e, t].exp() / scores[:, :, e, t].exp().sum(-1, keepdim=True)
            torch.testing.assert_close(context[:, :, t, e], (p * x[..., e]).sum(-1))


@BOTH
def test_gradients_by_finite_differences(kind: type) -> None:
    """With the strict mask, whose first row is empty, and padding."""
    score = build(kind)
    mask = Mask.past(S) & Mask.key_padding(REAL)

    def context(x: Tensor, *_: Tensor) -> Tensor:
        return attend(x, x, x, score=score, mask=mask, aggregate=elementwise).context

    assert torch.autograd.gradcheck(context, (words(), *score.parameters()))


@BOTH
def test_padding_changes_nothing(kind: type) -> None:
    score, x = build(kind), words().detach()
    hidden = ~REAL[:, None, :, None]
    mask = Mask.key_padding(REAL)
    before = attend(x, x, x, score=score, mask=mask, aggregate=elementwise).context
    moved = x + 1e3 * hidden
    after = attend(x, moved, moved, score=score, mask=mask, aggregate=elementwise).context
    assert torch.equal(before, after)


def test_strict_masks_leave_the_first_or_the_last_row_empty() -> None:
    score, x = build(FeatureWise), words()
    for mask, empty in ((Mask.past(S), 0), (Mask.future(S), -1)):
        context = attend(x, x, x, score=score, mask=mask, aggregate=elementwise).context
        assert context.isfinite().all()
        assert not context[:, :, empty].any()
        rows = context.any(dim=-1).sum(dim=-1)
        assert (rows == S - 1).all()


def test_another_normaliser_takes_its_slot() -> None:
    x = words()
    weights = attend(x, x, x, score=build(FeatureWise), normalise=Sparsemax(), aggregate=elementwise).weights
    assert weights is not None
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, E, S, dtype=torch.float64))


def test_scores_stay_within_the_bound_and_token_to_token_differs_from_additive() -> None:
    score = FeatureWise(E, bound=0.5)
    x = 100 * words().detach().float()
    scores = score(x, x)
    assert scores.shape == (B, E, S, S)
    assert scores.abs().max() <= 0.5
    assert Additive(E, E, 2)(x, x).shape == (B, 1, S, S)
