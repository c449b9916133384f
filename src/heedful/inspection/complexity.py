"""Table 1 of the Transformer's paper, counted: multiply-adds of real layers, and paths through who reads whom.

Knows no printing. A path is the number of layers that a signal needs between the two places farthest apart; a direct
path does not mean that the relation is learned, nor that the layer is cheaper.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from heedful.attention import attend, scaled_dot
from heedful.errors import ConfigError
from heedful.layers.banded import banded_attention


class LayerCost(NamedTuple):
    """One row: `counted` multiply-adds of one layer as torch runs it, `formula` what the paper's order gives for n, d.

    sequential: steps that must wait for each other.  longest_path: between any two places.
    """

    layer: str
    order: str
    formula: int
    counted: int
    sequential: int
    longest_path: int


def complexity(n: int, d: int, kernel: int = 3, radius: int = 5) -> list[LayerCost]:
    """List the layers of Table 1 [Vaswani 2017, 4] for n positions of width d.

    Restricted attention sees `radius` places each way: the table's r is 2 radius + 1, the place itself included.
    """
    if n < 2 or d < 1 or radius < 1 or kernel < 3 or kernel % 2 == 0:
        raise ConfigError(
            f"The table needs n >= 2, d >= 1, radius >= 1 and an odd kernel >= 3, "
            f"not n = {n}, d = {d}, radius = {radius}, kernel = {kernel}.",
            hint="Without options it is made for n = 100, d = 512.",
        )
    x = torch.zeros(1, n, d)
    side, width = kernel // 2, 2 * radius + 1
    everywhere, next_to = (lambda i: range(n)), (lambda i: range(max(0, i - 1), min(n, i + 2)))
    recurrent = nn.RNN(d, d, batch_first=True, bias=False)
    convolution = nn.Conv1d(d, d, kernel, padding=side, bias=False)

    def pair_score(query: Tensor, key: Tensor) -> Tensor:
        return scaled_dot(query, key)  # under another name, so that the products are counted one by one

    def full() -> None:
        attend(x[None], x[None], x[None], score=pair_score)

    def restricted() -> None:
        banded_attention(x[None], x[None], x[None], radius, score=pair_score)

    return [
        LayerCost("self-attention", "n^2 d", n * n * d, _count(full), 1, longest_path(n, everywhere)),
        LayerCost("recurrent", "n d^2", n * d * d, _count(lambda: recurrent(x)), n, longest_path(n, next_to)),
        LayerCost(
            f"convolution, k = {kernel}", "k n d^2", kernel * n * d * d, _count(lambda: convolution(x.mT)), 1,
            longest_path(n, lambda i: range(max(0, i - side), min(n, i + side + 1))),
        ),
        LayerCost(
            f"restricted self-attention, r = {width}", "r n d", width * n * d, _count(restricted), 1,
            longest_path(n, lambda i: range(max(0, i - radius), min(n, i + radius + 1))),
        ),
    ]  # fmt: skip


def longest_path(n: int, reads: Callable[[int], range]) -> int:
    """Count the steps between the two of n positions that are farthest apart, by breadth-first search from each
    position.
    """
    longest = 0
    for start in range(n):
        distance = {start: 0}
        frontier = [start]
        while frontier:
            reached = {j: distance[i] + 1 for i in frontier for j in reads(i) if j not in distance}
            distance.update(reached)
            frontier = list(reached)
        longest = max(longest, *distance.values())
    return longest


def _count(run: Callable[[], object]) -> int:
    """Count multiply-adds: the counter of torch counts each as two operations."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() // 2
