"""The weighted sum: Eq. 1 by hand, its laws, and the fused kernel against the explicit path."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attention.tables import MASKS, B, H, S, T, inputs
from torch import Tensor

from heedful.attention import Mask, attend, dot, fused_attention, scaled_dot, scaled_dot_product_attention

KINDS = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


def weights_of(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None = None) -> Tensor:
    weights = scaled_dot_product_attention(query, key, value, mask).weights
    assert weights is not None
    return weights


class TestEquationOne:
    QUERY = torch.eye(2)[None, None]
    KEY = torch.tensor([[[[1.0, 0], [0, 1], [1, 1]]]])
    VALUE = torch.tensor([[[[1.0, 0], [0, 1], [2, 2]]]])

    def test_by_hand(self) -> None:
        context, weights = scaled_dot_product_attention(self.QUERY, self.KEY, self.VALUE)
        assert weights is not None
        expected = torch.tensor([[0.401112, 0.197776, 0.401112], [0.197776, 0.401112, 0.401112]])
        torch.testing.assert_close(weights[0, 0], expected, atol=1e-6, rtol=0)
        torch.testing.assert_close(context[0, 0], torch.tensor([[1.203336, 1], [1, 1.203336]]), atol=1e-6, rtol=0)

    def test_by_hand_with_the_last_key_hidden(self) -> None:
        hidden = Mask.key_padding(torch.tensor([[True, True, False]]))
        expected = torch.tensor([[0.669762, 0.330238, 0], [0.330238, 0.669762, 0]])
        torch.testing.assert_close(
            weights_of(self.QUERY, self.KEY, self.VALUE, hidden)[0, 0], expected, atol=1e-6, rtol=0
        )

    def test_shapes_of_the_paper(self) -> None:
        """10 words in a head of 64: a 10 x 10 table whose rows sum to 1, and 10 x 64 again."""
        words = torch.randn(1, 1, 10, 64)
        context, weights = scaled_dot_product_attention(words, words, words)
        assert weights is not None
        assert weights.shape == (1, 1, 10, 10)
        torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, 10))
        assert context.shape == (1, 1, 10, 64)

    @KINDS
    def test_equals_torch(self, mask: Mask | None) -> None:
        query, key, value = inputs()
        visible = None if mask is None else mask.visible.expand(B, -1, T, S)
        expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        torch.testing.assert_close(scaled_dot_product_attention(query, key, value, mask).context, expected)


class TestPathsAgree:
    """Fused = explicit: the context, and the gradients of query, key and value."""

    @KINDS
    @pytest.mark.parametrize(
        ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12), (torch.bfloat16, 4e-2)], ids=str
    )
    def test_forward_and_backward(self, mask: Mask | None, dtype: torch.dtype, tolerance: float) -> None:
        found = []
        for path in (fused_attention, scaled_dot_product_attention):
            leaves = inputs(dtype=dtype)
            context = path(*leaves, mask=mask).context
            slope = torch.linspace(-1, 1, context.numel(), dtype=dtype).view(context.shape)
            found.append([context, *torch.autograd.grad((context * slope).sum(), leaves)])
        for fused, explicit in zip(*found, strict=True):
            torch.testing.assert_close(fused, explicit, atol=tolerance, rtol=tolerance)

    @pytest.mark.parametrize("n_keys", [1, 2, 7, 8, 15, 16, 17, 40])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
    def test_what_is_no_number_stays_none(self, dtype: torch.dtype, n_keys: int) -> None:
        """Torch's kernel for CPUs, without a mask, turns rows of NaN into zeros where few keys are read."""
        query, key = torch.full((2, 2, 3, 4), torch.nan, dtype=dtype), torch.randn(2, 2, n_keys, 4, dtype=dtype)
        seen = Mask.key_padding(torch.ones(2, n_keys, dtype=torch.bool))
        for mask in (None, seen):
            for path in (fused_attention, scaled_dot_product_attention):
                assert path(query, key, key, mask=mask).context.isnan().all()

    def test_a_mask_that_does_not_fit_is_refused_by_both(self) -> None:
        wrong = Mask.key_padding(torch.ones(B, S + 1, dtype=torch.bool))
        for path in (fused_attention, scaled_dot_product_attention):
            with pytest.raises(
                ValueError, match=rf"\[3, 1, 1, 7\] does not fit scores of shape \[{B}, {H}, {T}, {S}\]"
            ):
                path(*inputs(), mask=wrong)


class TestEmptyRows:
    """A query that may see nothing: zero context, zero weights, zero gradient, and no NaN anywhere else."""

    def test_zero_context_and_weights(self) -> None:
        context, weights = scaled_dot_product_attention(*inputs(), MASKS["empty rows"])
        assert weights is not None
        for tensor in (context, weights):
            assert not tensor[1, :, 2].any()
            assert not tensor[2].any()
            assert tensor[0].any(dim=-1).all()

    @pytest.mark.parametrize("path", [fused_attention, scaled_dot_product_attention])
    def test_gradients(self, path) -> None:
        """The loss reads full rows too, through a shared projection, which a NaN in an empty row would reach."""
        query, key, value = inputs()
        shared = torch.nn.Parameter(torch.eye(query.shape[-1]))
        context = path(query @ shared, key, value, mask=MASKS["empty rows"]).context
        gradients = torch.autograd.grad(context.square().sum(), (query, key, value, shared))
        assert all(gradient.isfinite().all() for gradient in gradients)
        assert not gradients[0][1, :, 2].any()
        assert not any(gradient[2].any() for gradient in gradients[:3])
        assert gradients[3].any()


class TestLaws:
    @KINDS
    def test_weights_are_a_distribution_over_what_is_seen(self, mask: Mask | None) -> None:
        weights = weights_of(*inputs(), mask)
        assert (weights >= 0).all()
        if mask is not None:
            visible = mask.visible.expand_as(weights)
            assert not weights[~visible].any()
            sums = visible.any(-1).to(weights)
        else:
            sums = torch.ones(B, H, T)
        torch.testing.assert_close(weights.sum(-1), sums)

    @KINDS
    def test_hidden_keys_and_values_change_nothing_at_all(self, mask: Mask | None) -> None:
        if mask is None:
            return
        query, key, value = inputs()
        unseen = ~mask.visible.expand(B, H, T, S).any(dim=2)[..., None]  # [B H S 1]: keys that no query sees
        before = scaled_dot_product_attention(query, key, value, mask).context
        after = scaled_dot_product_attention(query, key + 1e3 * unseen, value - 1e4 * unseen, mask).context
        assert torch.equal(before, after)

    def test_permuting_the_keys_changes_nothing(self) -> None:
        query, key, value = inputs(dtype=torch.float64)
        order = torch.tensor([3, 1, 5, 0, 4, 2])
        before = scaled_dot_product_attention(query, key, value).context
        after = scaled_dot_product_attention(query, key[:, :, order], value[:, :, order]).context
        torch.testing.assert_close(after, before)

    def test_self_attention_is_permuted_with_its_input(self) -> None:
        x, _, _ = inputs(dtype=torch.float64)
        order = torch.tensor([4, 2, 0, 3, 1])
        before = scaled_dot_product_attention(x, x, x).context
        moved = x[:, :, order]
        torch.testing.assert_close(scaled_dot_product_attention(moved, moved, moved).context, before[:, :, order])

    def test_output_is_as_long_as_the_query_for_every_memory(self) -> None:
        query, key, value = inputs()
        lengths = {
            scaled_dot_product_attention(query, key[:, :, :s], value[:, :, :s]).context.shape[2] for s in (1, 2, 6)
        }
        assert lengths == {T}

    def test_moving_one_value_moves_the_output_by_its_weight(self) -> None:
        query, key, value = inputs(dtype=torch.float64)
        before, weights = scaled_dot_product_attention(query, key, value)
        assert weights is not None
        step = torch.zeros_like(value)
        step[:, :, 2] = 0.7
        after = scaled_dot_product_attention(query, key, value + step).context
        expected = (0.7 * weights[..., 2:3]).expand_as(after)
        torch.testing.assert_close(after - before, expected)

    @given(shift=st.floats(-1e3, 1e3))
    @settings(max_examples=20, deadline=None)
    def test_a_constant_added_to_all_scores_changes_nothing(self, shift: float) -> None:
        query, key, value = inputs(dtype=torch.float64)
        plain = attend(query, key, value, score=dot).context
        shifted = attend(query, key, value, score=lambda q, k: dot(q, k) + shift).context
        torch.testing.assert_close(shifted, plain)

    @pytest.mark.parametrize("low", [-40.0, -1e4])
    def test_visible_scores_may_be_far_below_the_hidden_ones(self, low: float) -> None:
        """Scores [low, low - 1, hidden 7] give the softmax of [0, -1]; products with a 0/1 mask would not."""
        scores = torch.tensor([[[[low, low - 1, 7.0]]]])
        value = torch.eye(3)[None, None]
        mask = Mask.key_padding(torch.tensor([[True, True, False]]))
        read = attend(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 3, 1), value, score=lambda q, k: scores, mask=mask)
        torch.testing.assert_close(read.context[0, 0, 0], torch.tensor([0.731059, 0.268941, 0.0]), atol=1e-4, rtol=0)


class TestDropout:
    def test_weights_are_those_before_dropout(self) -> None:
        query, key, value = inputs()
        torch.manual_seed(0)
        context, weights = attend(query, key, value, score=scaled_dot, dropout=0.5)
        plain = scaled_dot_product_attention(query, key, value)
        assert weights is not None
        assert plain.weights is not None
        assert torch.equal(weights, plain.weights)
        assert not torch.allclose(context, plain.context)

    @pytest.mark.parametrize("fused", [True, False], ids=["fused", "explicit"])
    def test_the_mean_over_many_draws_is_the_context_without(self, fused: bool) -> None:
        torch.manual_seed(0)
        query, key, value = (part.detach()[:1, :1].expand(4000, 1, -1, -1) for part in inputs())
        if fused:
            context = fused_attention(query, key, value, dropout=0.3).context
        else:
            context = attend(query, key, value, score=scaled_dot, dropout=0.3).context
        plain = scaled_dot_product_attention(query[:1], key[:1], value[:1]).context
        torch.testing.assert_close(context.mean(0), plain[0], atol=0.05, rtol=0)
        assert context.std(0).mean() > 0.1
