"""The fourth slot: gather the heaviest, add up by word, element by element (that one is in test_feature_wise.py)."""

import pytest
import torch
from tests.attention.tables import MASKS, B, H, S, T, inputs

from heedful.attention import GatherTop, Mask, ScatterSum, Score, attend, dot, weighted_sum


def weights_as_scores(*rows: list[float]) -> Score:
    """Scores whose softmax is these rows, whatever the query."""
    return lambda query, key: torch.tensor(rows).log()[None, None]


KEYS = torch.zeros(1, 1, 4, 1)
VALUES = torch.tensor([[[[1.0, 10], [2, 20], [3, 30], [4, 40]]]])
QUERY = torch.zeros(1, 1, 1, 1)


class TestGatherTop:
    def test_by_hand(self) -> None:
        score = weights_as_scores([0.1, 0.4, 0.2, 0.3])
        context = attend(QUERY, KEYS, VALUES, score=score, aggregate=GatherTop(2)).context
        torch.testing.assert_close(context[0, 0, 0], torch.tensor([0.4 * 2, 0.4 * 20, 0.3 * 4, 0.3 * 40]))

    def test_ties_go_to_the_earlier_key(self) -> None:
        score = weights_as_scores([0.2, 0.3, 0.2, 0.3])
        context = attend(QUERY, KEYS, VALUES, score=score, aggregate=GatherTop(3)).context
        expected = torch.tensor([0.3 * 2, 0.3 * 20, 0.3 * 4, 0.3 * 40, 0.2 * 1, 0.2 * 10])
        torch.testing.assert_close(context[0, 0, 0], expected)

    def test_as_many_as_there_are_is_all_of_them_sorted(self) -> None:
        query, key, value = inputs()
        read = attend(query, key, value, score=dot, aggregate=GatherTop(S))
        assert read.weights is not None
        parts = (read.weights[..., None] * value[:, :, None]).detach()  # [B H T S E]
        order = read.weights.sort(dim=-1, descending=True).indices
        for b, h, t in [(0, 0, 0), (1, 1, 3), (2, 0, 4)]:
            torch.testing.assert_close(read.context[b, h, t].view(S, -1), parts[b, h, t, order[b, h, t]])
        total = read.context.view(B, H, T, S, -1).sum(3)
        torch.testing.assert_close(total, attend(query, key, value, score=dot).context)

    def test_a_short_memory_is_filled_up_with_zeros(self) -> None:
        query, key, value = inputs()
        exact = attend(query, key, value, score=dot, aggregate=GatherTop(S)).context
        longer = attend(query, key, value, score=dot, aggregate=GatherTop(S + 2)).context
        width = value.shape[-1]
        torch.testing.assert_close(longer[..., : S * width], exact)
        assert longer.shape[-1] == (S + 2) * width
        assert not longer[..., S * width :].any()

    @pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
    def test_hidden_values_never_come_in(self, mask: Mask | None) -> None:
        if mask is None:
            return
        query, key, value = inputs()
        unseen = ~mask.visible.expand(B, H, T, S).any(dim=2)[..., None]
        before = attend(query, key, value, score=dot, mask=mask, aggregate=GatherTop(3)).context
        after = attend(query, key, value + 1e4 * unseen, score=dot, mask=mask, aggregate=GatherTop(3)).context
        assert torch.equal(before, after)

    def test_the_gradient_reaches_the_scores(self) -> None:
        query, key, value = inputs(dtype=torch.float64)

        def read(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
            return attend(query, key, value, score=dot, aggregate=GatherTop(2)).context

        assert torch.autograd.gradcheck(read, (query, key, value), fast_mode=True)
        (gradient,) = torch.autograd.grad(read(query, key, value).sum(), query)
        assert gradient.abs().amin(-1).all()

    def test_n(self) -> None:
        with pytest.raises(ValueError, match="`n` must be at least 1, but is 0"):
            GatherTop(0)


class TestScatterSum:
    def test_by_hand(self) -> None:
        """Words 7, 8, 7: the first and the third place add up."""
        score = weights_as_scores([0.2, 0.5, 0.3])
        words = torch.tensor([7, 8, 7]).view(1, 1, 3, 1)
        context = attend(QUERY, KEYS[:, :, :3], words, score=score, aggregate=ScatterSum(9)).context
        torch.testing.assert_close(context[0, 0, 0], torch.tensor([0, 0, 0, 0, 0, 0, 0, 0.5, 0.5]))

    def test_is_the_weighted_sum_of_one_hot_vectors(self) -> None:
        query, key, _ = inputs(dtype=torch.float64)
        words = torch.randint(0, 5, (B, H, S, 1), generator=torch.Generator().manual_seed(0))
        one_hot = torch.nn.functional.one_hot(words[..., 0], 5).double()
        mask = MASKS["empty rows"]
        found = attend(query, key, words, score=dot, mask=mask, aggregate=ScatterSum(5)).context
        expected = attend(query, key, one_hot, score=dot, mask=mask, aggregate=weighted_sum).context
        torch.testing.assert_close(found, expected)
        for one, other in zip(
            *(torch.autograd.grad(c.pow(2).sum(), (query, key)) for c in (found, expected)), strict=True
        ):
            torch.testing.assert_close(one, other)
