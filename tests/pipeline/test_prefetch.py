"""Items made ahead are the items, whatever the order in which they are asked for."""

import threading

import pytest

from heedful.pipeline.prefetch import Prefetch


def test_the_next_item_is_begun_before_it_is_asked_for():
    begun = [threading.Event() for _ in range(5)]

    def make(number: int) -> int:
        begun[number].set()
        return 10 * number

    with Prefetch(make) as ahead:
        assert ahead(0) == 0
        assert begun[1].wait(timeout=10)
        assert not begun[2].is_set()
        assert ahead(1) == 10


@pytest.mark.parametrize("asked", [[0, 1, 2, 3], [5, 6, 7], [3, 3, 3], [4, 0, 1, 9, 2]])
def test_any_order_gives_the_right_items(asked: list[int]):
    with Prefetch(lambda number: number * number) as ahead:
        assert [ahead(number) for number in asked] == [number * number for number in asked]


def test_an_error_comes_where_its_item_is_asked_for():
    def make(number: int) -> int:
        if number == 1:
            raise ValueError("item 1 cannot be made")
        return number

    with Prefetch(make) as ahead:
        assert ahead(0) == 0
        with pytest.raises(ValueError, match="item 1 cannot be made"):
            ahead(1)
        assert ahead(2) == 2


def test_no_thread_is_left_behind():
    before = threading.active_count()
    with Prefetch(lambda number: number) as ahead:
        ahead(0)
    assert threading.active_count() == before
