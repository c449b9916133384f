"""Hops, alignment both ways, attention over attention: by hand, and padding that changes nothing."""

import pytest
import torch
from tests.attention.tables import REAL, B, S
from torch import Tensor

from heedful.attention import KeyValue, Mask, ScatterSum
from heedful.gallery.layers.memory import Hops, align_both_ways, attention_over_attention

E = 4
MASK = Mask.key_padding(REAL)


def sequence(length: int, seed: int) -> Tensor:
    made = torch.randn(B, 1, length, E, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.requires_grad_()


class TestHops:
    QUERY = torch.tensor([[[[1.0, 0]]]])
    MEMORY = KeyValue(2 * torch.eye(2)[None, None], torch.tensor([[[[0.0, 3], [3, 0]]]]))

    def test_three_hops_by_hand(self) -> None:
        """u = [1, 0], A = 2 I, C = [[0, 3], [3, 0]], u + o."""
        _, hops = Hops(2, 3)(self.QUERY, [self.MEMORY])
        expected = [[0.880797, 0.119203], [0.071123, 0.928877], [0.929364, 0.070636]]
        for read, weights in zip(hops, expected, strict=True):
            assert read.weights is not None
            torch.testing.assert_close(read.weights[0, 0, 0], torch.tensor(weights), atol=1e-6, rtol=0)
        torch.testing.assert_close(hops[0].context[0, 0, 0], torch.tensor([0.357609, 2.642391]), atol=1e-6, rtol=0)

    def test_the_updates(self) -> None:
        """One hop: u + o, R (u + o), W [u; o]."""
        torch.manual_seed(0)
        query, memory = sequence(2, 0), KeyValue(sequence(S, 1), sequence(S, 2))
        plain, hops = Hops(E, 1)(query, [memory], MASK)
        o = hops[0].context
        torch.testing.assert_close(plain, query + o)
        linear = Hops(E, 1, "add-linear").double()
        torch.testing.assert_close(linear(query, [memory], MASK).query, (query + o) @ linear.linear[0].weight.T)
        joined = Hops(E, 1, "concat-linear").double()
        w = joined.linear[0].weight
        torch.testing.assert_close(joined(query, [memory], MASK).query, query @ w[:, :E].T + o @ w[:, E:].T)
        assert joined(query, [memory], MASK).query.shape == query.shape

    @pytest.mark.parametrize("update", ["add", "add-linear", "concat-linear"])
    def test_gradients_by_finite_differences(self, update) -> None:
        torch.manual_seed(0)
        hops = Hops(E, 2, update).double()

        def answer(query: Tensor, key: Tensor, value: Tensor, *_: Tensor) -> Tensor:
            return hops(query, [KeyValue(key, value)], MASK).query

        parts = (sequence(2, 0), sequence(S, 1), sequence(S, 2), *hops.parameters())
        assert torch.autograd.gradcheck(answer, parts, fast_mode=True)

    def test_each_hop_may_have_its_own_memory(self) -> None:
        first, second = KeyValue(sequence(S, 1), sequence(S, 2)), KeyValue(sequence(S, 3), sequence(S, 4))
        query = sequence(1, 0)
        both = Hops(E, 2)(query, [first, second], MASK).query
        middle = Hops(E, 1)(query, [first], MASK).query
        torch.testing.assert_close(both, Hops(E, 1)(middle, [second], MASK).query)

    def test_empty_slots_are_masked_and_a_real_product_of_zero_is_not(self) -> None:
        """A memory whose product with the query is exactly 0 still takes its share."""
        memory = KeyValue(torch.tensor([[[[0.0, 1], [0, 5], [9, 9]]]]), torch.ones(1, 1, 3, 2))
        mask = Mask.key_padding(torch.tensor([[True, True, False]]))
        weights = Hops(2, 1)(self.QUERY, [memory], mask).hops[0].weights
        assert weights is not None
        torch.testing.assert_close(weights[0, 0, 0], torch.tensor([0.5, 0.5, 0]))

    def test_permuting_the_memory_changes_nothing(self) -> None:
        query, memory = sequence(1, 0), KeyValue(sequence(S, 1), sequence(S, 2))
        order = torch.tensor([3, 1, 5, 0, 4, 2])
        moved = KeyValue(memory.key[:, :, order], memory.value[:, :, order])
        torch.testing.assert_close(Hops(E, 3)(query, [moved]).query, Hops(E, 3)(query, [memory]).query)

    def test_as_many_memories_as_hops(self) -> None:
        with pytest.raises(ValueError, match="`memories` must be 1 or 3, one for each hop, but are 2"):
            Hops(2, 3)(self.QUERY, [self.MEMORY] * 2)


class TestAlignment:
    def test_by_hand(self) -> None:
        a, b = torch.eye(2)[None, None], torch.tensor([[[[1.0, 0], [1, 1], [0, 2]]]])
        left, right = align_both_ways(a, b)
        expected = torch.tensor([[0.844638, 0.733044], [0.334759, 1.575210]])
        torch.testing.assert_close(left.context[0, 0], expected, atol=1e-6, rtol=0)
        expected = torch.tensor([[0.731059, 0.268941], [0.5, 0.5], [0.119203, 0.880797]])
        torch.testing.assert_close(right.context[0, 0], expected, atol=1e-6, rtol=0)

    def test_swapping_the_sequences_swaps_the_result(self) -> None:
        a, b = sequence(5, 0), sequence(S, 1)
        there, back = align_both_ways(a, b, None, MASK), align_both_ways(b, a, MASK, None)
        assert torch.equal(there.left.context, back.right.context)
        assert torch.equal(there.right.context, back.left.context)

    def test_padding_changes_nothing(self) -> None:
        a, b = sequence(5, 0).detach(), sequence(S, 1).detach()
        moved = torch.where(REAL[:, None, :, None], b, 1e3)
        plain, other = align_both_ways(a, b, None, MASK), align_both_ways(a, moved, None, MASK)
        assert torch.equal(plain.left.context, other.left.context)
        assert torch.equal(plain.right.context[REAL[:, None]], other.right.context[REAL[:, None]])


class TestAttentionOverAttention:
    DOCUMENT = torch.tensor([[[1.0, 0], [0, 2], [1, 1]]])
    QUERY = torch.eye(2)[None]  # so that M is the document itself

    def test_by_hand(self) -> None:
        s = attention_over_attention(self.DOCUMENT, self.QUERY)
        torch.testing.assert_close(s[0], torch.tensor([0.239589, 0.435751, 0.324660]), atol=1e-6, rtol=0)
        words = torch.tensor([7, 8, 7]).view(1, 1, 3, 1)
        assert ScatterSum(9)(s[:, None, None], words)[0, 0, 0, 7].item() == pytest.approx(0.564249, abs=1e-6)

    def test_is_a_vector_over_places_that_sums_to_one(self) -> None:
        document, query = sequence(S, 0)[:, 0], sequence(3, 1)[:, 0]
        s = attention_over_attention(document, query, MASK, Mask.key_padding(torch.tensor([[True, True, False]] * B)))
        assert s.shape == (B, S)
        torch.testing.assert_close(s.sum(-1), torch.ones(B, dtype=torch.float64))
        assert not s[~REAL].any()

    def test_padding_changes_nothing(self) -> None:
        """Each sentence alone, at its own length, with the query at its own."""
        document, query = sequence(S, 0)[:, 0], sequence(3, 1)[:, 0]
        words = torch.tensor([[True, True, False], [True, True, True], [True, False, False]])
        s = attention_over_attention(document, query, MASK, Mask.key_padding(words))
        for b in range(B):
            places, n = int(REAL[b].sum()), int(words[b].sum())
            alone = attention_over_attention(document[b : b + 1, :places], query[b : b + 1, :n])
            torch.testing.assert_close(s[b, :places], alone[0])

    def test_gradients_by_finite_differences(self) -> None:
        parts = (sequence(S, 0), sequence(3, 1))
        assert torch.autograd.gradcheck(
            lambda d, q: attention_over_attention(d[:, 0], q[:, 0], MASK), parts, fast_mode=True
        )
