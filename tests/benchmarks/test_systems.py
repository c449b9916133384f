"""What the timed programs share: one learning rate for all, and outputs in the order of their lines."""

import pytest
from clock import learning_rate
from decode_clock import in_batches

from heedful.training.schedule import inverse_sqrt


@pytest.mark.parametrize("update", [1, 7, 20, 21, 80])
def test_peers_have_our_learning_rate(update: int) -> None:
    sizes = {"peak_rate": 1e-3, "warmup": 20}
    assert learning_rate(update, sizes) == pytest.approx(inverse_sqrt(update, 1e-3, 20))


@pytest.mark.parametrize("size", [0, 2, 10])
def test_batches_are_of_like_length_and_outputs_in_order(size: int) -> None:
    seen: list[list[str]] = []

    def translate(lines: list[str]) -> list[str]:
        seen.append(list(lines))
        return [line.upper() for line in lines]

    lines = ["a", "b c d", "e f", "", "g h i j"]
    assert in_batches(lines, size, translate) == [line.upper() for line in lines]
    if size == 2:
        assert seen == [["g h i j", "b c d"], ["e f", "a"], [""]]
