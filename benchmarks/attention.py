"""Attention paths side by side, forward and backward: explicit / fused, by length and precision; then restricted
self-attention in blocks / by a mask, with the slope of log time over log length (1: linear, 2: quadratic).

python benchmarks/attention.py [--rounds 5]
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable

import torch

from heedful.attention import Mask, attend, fused_attention, scaled_dot
from heedful.layers.banded import restricted_attention

SHAPES = ((400, 4, 8, 32), (280, 4, 14, 32), (100, 4, 40, 32), (30, 8, 130, 64), (8, 8, 512, 64))  # B H T E
LENGTHS = (128, 256, 512, 1024, 2048)
RADII = (8, 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print("B    H  T    E   type      explicit ms  fused ms   explicit/fused: min median max")
    for shape in SHAPES:
        for dtype in (torch.float32, torch.bfloat16):
            explicit, fused = zip(*(one_round(shape, dtype) for _ in range(arguments.rounds)), strict=True)
            ratios = [a / b for a, b in zip(explicit, fused, strict=True)]
            sizes = "{:<4} {:<2} {:<4} {:<3}".format(*shape)
            times = f"{statistics.median(explicit) * 1e3:11.2f} {statistics.median(fused) * 1e3:9.2f}"
            shown = f"{min(ratios):.2f} {statistics.median(ratios):.2f} {max(ratios):.2f}"
            print(f"{sizes} {str(dtype)[6:]:9}{times}   {shown}")
    for radius in RADII:
        restricted(radius, arguments.rounds)


def restricted(radius: int, rounds: int) -> None:
    """One line a length and the two slopes, for windows of `radius` places on either side."""
    print(f"\nradius {radius}: T   blocks ms  masked ms   blocks/masked")
    medians = []
    for length in LENGTHS:
        seconds = [one_restricted_round(length, radius) for _ in range(rounds)]
        blocks, masked = (statistics.median(times) for times in zip(*seconds, strict=True))
        medians.append((blocks, masked))
        print(f"{length:14}{blocks * 1e3:12.2f}{masked * 1e3:11.2f}   {blocks / masked:.2f}")
    slopes = [slope(LENGTHS, times) for times in zip(*medians, strict=True)]
    print(f"slope in length: blocks {slopes[0]:.2f}, masked {slopes[1]:.2f}")


def slope(lengths: tuple[int, ...], seconds: tuple[float, ...]) -> float:
    """Of log seconds over log length, by least squares."""
    return statistics.linear_regression([math.log(n) for n in lengths], [math.log(s) for s in seconds]).slope


def one_restricted_round(length: int, radius: int) -> tuple[float, float]:
    """Seconds in blocks, and of the fused kernel under a window mask; batch 4, 4 heads of 32."""
    query, key, value = (torch.randn(4, 4, length, 32, requires_grad=True) for _ in range(3))
    window = Mask.around(torch.arange(length), radius, length)

    def blocks() -> torch.Tensor:
        return restricted_attention(query, key, value, radius).context

    def masked() -> torch.Tensor:
        return fused_attention(query, key, value, mask=window).context

    return timed(blocks), timed(masked)


def timed(path: Callable[[], torch.Tensor]) -> float:
    """Seconds of a forward and a backward pass: the mean of three, after one to warm up."""
    path().sum().backward()
    started = time.perf_counter()
    for _ in range(3):
        path().sum().backward()
    return (time.perf_counter() - started) / 3


def one_round(shape: tuple[int, int, int, int], dtype: torch.dtype) -> tuple[float, float]:
    """Seconds of the explicit and of the fused path, with padding masked."""
    batch, heads, length, width = shape
    tensors = [torch.randn(batch, length, heads * width, dtype=dtype, requires_grad=True) for _ in range(3)]
    mask = Mask.key_padding(torch.arange(length) < torch.randint(1, length + 1, (batch, 1)))

    def split() -> list[torch.Tensor]:
        return [x.view(batch, length, heads, width).transpose(1, 2) for x in tensors]

    def explicit() -> torch.Tensor:
        return attend(*split(), score=scaled_dot, mask=mask).context

    def fused() -> torch.Tensor:
        return fused_attention(*split(), mask=mask).context

    return timed(lambda: explicit().transpose(1, 2)), timed(lambda: fused().transpose(1, 2))


if __name__ == "__main__":
    main()
