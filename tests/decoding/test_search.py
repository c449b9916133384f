"""What every search shares: the few best of a wide row, and what is forced."""

import pytest
import torch

from heedful.decoding.search import FREE, RUN, ForcedTokens, Request, continuations, log_probabilities
from heedful.text.vocabulary import BOS, EOS, PAD

WIDTHS = [1, 5, RUN, 3 * RUN - 1, 40 * RUN, 40 * RUN + 1, 41 * RUN - 1]


def rows(n: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("k", [1, 2, 5, 19, 200])
def test_the_best_are_those_of_a_full_sort(width: int, k: int) -> None:
    log_p = rows(7, width)
    found = continuations(log_p, k, None)
    values, ids = log_p.sort(dim=1, descending=True)
    assert torch.equal(found.log_p, values[:, :k])
    assert torch.equal(found.ids, ids[:, :k])


@pytest.mark.parametrize("place", [0, RUN - 1, RUN, 40 * RUN - 1, 40 * RUN, 40 * RUN + 6])
def test_the_best_may_be_neighbours_or_in_the_rest(place: int) -> None:
    """All of the best in one run of neighbours, at its edges, or beyond the last full run."""
    log_p = rows(1, 40 * RUN + 7)
    log_p[0, max(0, place - 2) : place + 1] += 100.0
    assert continuations(log_p, 5, None).ids.tolist() == log_p.sort(dim=1, descending=True).indices[:, :5].tolist()


def test_equal_and_impossible_ones() -> None:
    log_p = torch.full((2, 50 * RUN), -torch.inf)
    log_p[0, 7::RUN] = -1.0
    found = continuations(log_p, 3, None)
    assert found.log_p.tolist() == [[-1.0] * 3, [-torch.inf] * 3]
    assert log_p.gather(1, found.ids).equal(found.log_p)
    assert all(len(set(ids)) == 3 for ids in found.ids.tolist())


@pytest.mark.parametrize("width", [6, 40 * RUN])
def test_a_forced_id_stands_alone(width: int) -> None:
    log_p = rows(3, width)
    found = continuations(log_p, 2, [FREE, 4, FREE])
    free = continuations(log_p, 2, None)
    assert found.log_p[1].tolist() == [log_p[1, 4], -torch.inf]
    assert found.ids[1, 0] == 4
    for row in (0, 2):
        assert torch.equal(found.log_p[row], free.log_p[row])
        assert torch.equal(found.ids[row], free.ids[row])


def test_log_probabilities() -> None:
    """Of all symbols, PAD and BOS too, though these two are never chosen."""
    logits = rows(4, 9).bfloat16()
    log_p = log_probabilities(logits)
    assert log_p.dtype == torch.float32
    assert log_p[:, [PAD, BOS]].tolist() == [[-torch.inf] * 2] * 4
    others = [i for i in range(9) if i not in (PAD, BOS)]
    shares = logits.double().exp() / logits.double().exp().sum(dim=1, keepdim=True)
    torch.testing.assert_close(log_p[:, others].double().exp(), shares[:, others])


class TestForcing:
    FORCING = ForcedTokens([Request(4), Request(2, (7, 8)), Request(5, (9,))])

    @pytest.mark.parametrize(
        ("position", "forced"),
        [
            (0, [FREE, 7, 9]),
            (1, [FREE, 8, FREE]),
            (2, [FREE, EOS, FREE]),
            (3, [FREE, EOS, FREE]),
            (4, [EOS, EOS, FREE]),
            (5, [EOS, EOS, EOS]),
        ],
    )
    def test_positions(self, position: int, forced: list[int]) -> None:
        assert self.FORCING.at(position, [0, 1, 2]) == forced

    def test_none_where_all_are_free(self) -> None:
        assert self.FORCING.at(0, [0]) is None
        assert self.FORCING.at(1, [2, 0]) is None
        assert ForcedTokens([Request(9)]).at(5, [0]) is None
        assert ForcedTokens([]).at(0, []) is None
