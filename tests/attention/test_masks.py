"""Masks by name: what they show, how they combine, and what they refuse."""

import importlib.machinery
import importlib.util
from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import heedful.attention.masks
from heedful.attention import Mask, attend, dot


def uniform_weights(mask: Mask, n_queries: int = 4) -> Tensor:
    """The weights where every key answers equally well."""
    weights = attend(
        torch.zeros(1, 1, n_queries, 1), torch.zeros(1, 1, 4, 1), torch.zeros(1, 1, 4, 1), score=dot, mask=mask
    ).weights
    assert weights is not None
    return weights[0, 0]


THIRD = 1 / 3
CAUSAL_ROWS = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [THIRD, THIRD, THIRD, 0], [0.25] * 4]
PADDING = Mask.key_padding(torch.tensor([[True, True, True, False]]))


def test_causal_by_hand() -> None:
    torch.testing.assert_close(uniform_weights(Mask.causal(4, 4, offset=0)), torch.tensor(CAUSAL_ROWS))


def test_causal_and_padding_by_hand() -> None:
    weights = uniform_weights(Mask.causal(4, 4, offset=0) & PADDING)
    torch.testing.assert_close(weights, torch.tensor([*CAUSAL_ROWS[:3], [THIRD, THIRD, THIRD, 0]]))


def test_padding_alone_hides_keys_not_queries() -> None:
    torch.testing.assert_close(uniform_weights(PADDING), torch.tensor([[THIRD, THIRD, THIRD, 0]] * 4))


@given(queries=st.integers(1, 6), offset=st.integers(0, 6))
def test_causal_offset(queries: int, offset: int) -> None:
    """The rows of a later part are the later rows of the whole."""
    keys = offset + queries
    whole = Mask.causal(keys, keys, offset=0).visible
    assert torch.equal(Mask.causal(queries, keys, offset=offset).visible, whole[:, :, offset:])


def test_one_query_after_three_sees_all_four_keys() -> None:
    assert Mask.causal(1, 4, offset=3).visible.all()


def test_a_square_table_means_what_its_name_says() -> None:
    """With B = T = S nothing but the name can tell rows that are sentences from rows that are queries."""
    square = torch.tensor([[True, False], [True, True]])
    by_sentence = Mask.key_padding(square).visible.expand(2, 1, 2, 2)
    by_query = Mask.pair(square).visible.expand(2, 1, 2, 2)
    for sentence in range(2):
        for query in range(2):
            assert torch.equal(by_sentence[sentence, 0, query], square[sentence])
            assert torch.equal(by_query[sentence, 0, query], square[query])


def test_strict_masks_leave_the_query_itself_out() -> None:
    past, future = (mask(4).visible[0, 0] for mask in (Mask.past, Mask.future))
    for t in range(4):
        for s in range(4):
            assert bool(past[t, s]) is (s < t)
            assert bool(future[t, s]) is (s > t)


class TestAround:
    @given(n=st.integers(1, 9), radius=st.integers(0, 10))
    def test_each_query_sees_its_neighbours(self, n: int, radius: int) -> None:
        table = Mask.around(torch.arange(n), radius, n).visible[0, 0]
        assert [[bool(cell) for cell in row] for row in table] == [
            [abs(t - s) <= radius for s in range(n)] for t in range(n)
        ]

    def test_a_centre_for_each_sentence_and_each_head(self) -> None:
        by_sentence = torch.tensor([[0.0, 2.4], [3.0, 1.6]])  # two sentences of two queries
        mask = Mask.around(by_sentence, 1, 5)
        assert mask.visible.shape == (2, 1, 2, 5)
        seen = [[mask.visible[b, 0, t].nonzero().flatten().tolist() for t in range(2)] for b in range(2)]
        assert seen == [[[0, 1], [2, 3]], [[2, 3, 4], [1, 2]]]
        by_head = Mask.around(by_sentence[:, None].expand(2, 3, 2), 1, 5)
        assert torch.equal(by_head.visible, mask.visible.expand(2, 3, 2, 5))

    def test_radius(self) -> None:
        with pytest.raises(ValueError, match="`radius` must be at least 0, but is -1"):
            Mask.around(torch.arange(3), -1, 3)


def test_and_is_visible_in_both() -> None:
    combined = Mask.causal(4, 4, offset=0) & PADDING
    table = combined.visible[0, 0]
    assert [[bool(table[t, s]) for s in range(4)] for t in range(4)] == [
        [s <= t and s != 3 for s in range(4)] for t in range(4)
    ]


def test_negative_offset() -> None:
    with pytest.raises(ValueError, match=r"`offset` is the position of the first query, so at least 0, but is -1\."):
        Mask.causal(2, 2, offset=-1)


@pytest.mark.parametrize("shape", [(2, 1, 4, 4), (1, 3, 4, 4), (1, 1, 3, 4), (1, 1, 4, 5)])
def test_a_mask_that_does_not_fit(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="does not fit") as caught:
        Mask.full(torch.ones(shape, dtype=torch.bool)).check(1, 2, 4, 4)
    assert str(caught.value) == f"A mask of shape {list(shape)} does not fit scores of shape [1, 2, 4, 4]."


@pytest.mark.parametrize("shape", [(1, 1, 4, 4), (3, 1, 1, 4), (3, 2, 4, 4)])
def test_a_mask_that_fits(shape: tuple[int, ...]) -> None:
    Mask.full(torch.ones(shape, dtype=torch.bool)).check(3, 2, 4, 4)


@pytest.fixture(scope="module")
def unchecked() -> ModuleType:
    """The module as it runs outside tests, where no hook checks types before it does."""
    path = heedful.attention.masks.__file__
    loader = importlib.machinery.SourceFileLoader("unchecked_masks", path)
    spec = importlib.util.spec_from_loader("unchecked_masks", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "shape"), [("key_padding", (2, 3)), ("pair", (2, 3)), ("full", (1, 1, 2, 3))])
class TestWrongMasks:
    def test_numbers(self, unchecked: ModuleType, name: str, shape: tuple[int, ...]) -> None:
        """An additive mask would be read upside down, so it is refused."""
        with pytest.raises(
            ValueError, match=f"`{name}` takes a bool mask, True = may attend, but the dtype is torch.float32"
        ):
            getattr(unchecked.Mask, name)(torch.zeros(shape))

    def test_dimensions(self, unchecked: ModuleType, name: str, shape: tuple[int, ...]) -> None:
        message = rf"`{name}` takes a mask of {len(shape)} dimensions, but the shape is \[4\]."
        with pytest.raises(ValueError, match=message):
            getattr(unchecked.Mask, name)(torch.ones(4, dtype=torch.bool))
