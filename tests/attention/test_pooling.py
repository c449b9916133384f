"""Reading with learned constant queries: HAN, structured self-attention, its penalty, and the mix of layers."""

import pytest
import torch
from tests.attention.tables import REAL, B, S
from torch import Tensor

from heedful.attention import GatherTop, Mask, Pooling, Sparsemax, overlap_penalty

D, HIDDEN, R = 4, 3, 2
MASK = Mask.key_padding(REAL)


def words() -> Tensor:
    return torch.randn(B, S, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)


def pooling(n_rows: int = R, **slots) -> Pooling:
    torch.manual_seed(1)
    return Pooling(D, HIDDEN, n_rows, **slots).double()


class TestPooling:
    def test_equals_the_equation_sentence_by_sentence(self) -> None:
        """A = softmax(U tanh(W H^T + b)), M = A H, for each sentence at its own length."""
        pool, h = pooling(), words()
        found = pool(h, MASK)
        for b in range(B):
            alone = h[b, : int(REAL[b].sum())]
            hidden = torch.tanh(alone @ pool.inner.weight.T + pool.inner.bias)
            rows = (pool.queries @ hidden.T).softmax(-1)
            torch.testing.assert_close(found.weights[b, :, : len(alone)], rows)
            torch.testing.assert_close(found.vectors[b], rows @ alone)

    def test_rows_sum_to_one_over_real_words_and_empty_sentences_are_zero(self) -> None:
        real = REAL.clone()
        real[2] = False
        vectors, weights = pooling()(words(), Mask.key_padding(real))
        torch.testing.assert_close(weights.sum(-1), torch.tensor([[1.0], [1], [0]]).double().expand(B, R))
        assert not weights[:, :, :][~real[:, None].expand(B, R, S)].any()
        assert not vectors[2].any()

    def test_padding_changes_nothing(self) -> None:
        h = words().detach()
        moved = torch.where(REAL[..., None], h, 1e3)
        assert torch.equal(pooling()(h, MASK).vectors, pooling()(moved, MASK).vectors)

    def test_the_same_word_weighs_differently_elsewhere(self) -> None:
        h = words().detach().clone()
        h[1, 0] = h[0, 0]
        weights = pooling(1)(h, None).weights
        assert abs(weights[0, 0, 0] - weights[1, 0, 0]) > 1e-3

    def test_gradients_by_finite_differences(self) -> None:
        pool = pooling()
        assert torch.autograd.gradcheck(lambda h, *_: pool(h, MASK).vectors, (words(), *pool.parameters()))

    def test_the_other_slots(self) -> None:
        """Keywords: the two heaviest words, joined; sparse weights."""
        h = words()
        plain = pooling(1)(h, None)
        top = pooling(1, aggregate=GatherTop(2))(h, None).vectors
        order = plain.weights[:, 0].argsort(descending=True)[:, :2]
        for b in range(B):
            first, second = order[b]
            expected = torch.cat([plain.weights[b, 0, i] * h[b, i] for i in (first, second)])
            torch.testing.assert_close(top[b, 0], expected)
        sparse = pooling(1, normalise=Sparsemax())(h * 20, None).weights
        assert (sparse == 0).any()

    def test_without_bias(self) -> None:
        assert len(list(pooling(bias=False).parameters())) == 2


class TestPenalty:
    @pytest.mark.parametrize(
        ("rows", "penalty"),
        [
            ([[1.0, 0, 0, 0], [0, 0, 1, 0]], 0.0),
            ([[0.0, 1, 0, 0], [0, 1, 0, 0]], 2.0),
            ([[0.25] * 4, [0.25] * 4], 1.25),
        ],
        ids=["different words", "the same word", "uniform"],
    )
    def test_by_hand(self, rows: list[list[float]], penalty: float) -> None:
        torch.testing.assert_close(overlap_penalty(torch.tensor([rows])), torch.tensor([penalty]))

    def test_equals_the_squared_norm_of_torch(self) -> None:
        weights = pooling()(words(), MASK).weights
        expected = [torch.linalg.matrix_norm(a @ a.T - torch.eye(R, dtype=a.dtype)) ** 2 for a in weights]
        torch.testing.assert_close(overlap_penalty(weights), torch.stack(expected))

    def test_drives_rows_apart(self) -> None:
        """Two rows that start alike part when nothing but the penalty is lowered."""
        h = torch.eye(S, dtype=torch.float64)[None]
        pool = Pooling(S, 8, 2).double()
        with torch.no_grad():
            pool.queries[1] = pool.queries[0] + 0.01 * torch.randn(8, dtype=torch.float64)

        def overlap() -> float:
            a, b = pool(h).weights[0].detach()
            return float(torch.cosine_similarity(a, b, dim=0))

        assert overlap() > 0.99
        optimizer = torch.optim.Adam(pool.parameters(), lr=0.05)
        for _ in range(150):
            optimizer.zero_grad()
            overlap_penalty(pool(h).weights).sum().backward()
            optimizer.step()
        assert overlap() < 0.1
