"""The two attention paths side by side, forward and backward: explicit / fused, by length and number type.

python benchmarks/attention.py [--rounds 5]
"""

import argparse
import statistics
import time

import torch

from heedful.attention import Mask, attend, fused_attention, scaled_dot

SHAPES = ((400, 4, 8, 32), (280, 4, 14, 32), (100, 4, 40, 32), (30, 8, 130, 64), (8, 8, 512, 64))  # B H T E


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

    seconds = []
    for path in (explicit, fused):
        path().transpose(1, 2).sum().backward()
        started = time.perf_counter()
        for _ in range(3):
            path().transpose(1, 2).sum().backward()
        seconds.append((time.perf_counter() - started) / 3)
    return seconds[0], seconds[1]


if __name__ == "__main__":
    main()
