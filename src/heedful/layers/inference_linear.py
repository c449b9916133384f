"""Linear maps x W^T + b for inference, in three precisions, the weight prepared once. Knows no layer and no model.

What goes in and what comes out is of one type (float32, as a rule); the precision is that of the operands. Nothing
here has a gradient, and each map holds the weight as it was when the map was made.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.errors import ConfigError

Precision = Literal["float32", "bfloat16", "int8"]

FEW_ROWS = 4  # for fewer, the call of the packed kernel costs more than it saves
LEVELS = 127  # the greatest number of a symmetric int8
_NO_ACTIVATION = ("none", [], "")


class Readout(ABC):
    """An output layer as search uses it: hidden vectors to logits, of all ids or of some."""

    @abstractmethod
    def __call__(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Compute the logits of all ids."""

    @abstractmethod
    def among(self, ids: Int[Tensor, " U"]) -> Callable[[Tensor], Tensor]:
        """Return what computes the logits of these ids only, in their order."""


class InferenceMap(nn.Module, Readout):
    """x W^T + b, prepared."""

    @abstractmethod
    def forward(self, x: Float[Tensor, "*rows In"]) -> Float[Tensor, "*rows Out"]:
        """Apply the map to each row."""

    @abstractmethod
    def only(self, ids: Int[Tensor, " U"]) -> "InferenceMap":
        """Return the map to these outputs, in their order, with a kernel of its own."""

    def among(self, ids: Int[Tensor, " U"]) -> Callable[[Tensor], Tensor]:
        """Return a map to these outputs, computed in padded sizes: some outputs are computed in vain, so that few
        kernels serve all sizes.
        """
        n, wide = len(ids), self.only(torch.cat([ids, ids[:1].expand(usual_size(len(ids)) - len(ids))]))
        return lambda x: wide(x)[..., :n]


def inference_map(
    weight: Float[Tensor, "Out In"], bias: Float[Tensor, " Out"] | None, precision: Precision
) -> InferenceMap:
    """Make the linear map of this weight and bias in this precision. Raises ConfigError where the machine has no such
    kernel.
    """
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    if precision == "int8":
        _require_int8(weight.device)
        return Int8Linear(*quantise_rows(weight), bias)
    return PackedLinear(weight, bias) if precision == "float32" else BFloat16Linear(weight, bias)


@final
class PackedLinear(InferenceMap):
    """x W^T + b in the type of the weight, on a CPU with W laid out in advance as oneDNN's kernel reads it."""

    def __init__(self, weight: Float[Tensor, "Out In"], bias: Float[Tensor, " Out"] | None) -> None:
        super().__init__()
        self.weight, self.bias = weight, bias
        self.packed = _pack(weight)

    def forward(self, x: Float[Tensor, "*rows In"]) -> Float[Tensor, "*rows Out"]:
        if self.packed is None or x.numel() < FEW_ROWS * x.shape[-1]:
            return nn.functional.linear(x, self.weight, self.bias)
        return _packed_product(x, self.packed, self.bias)

    def only(self, ids: Int[Tensor, " U"]) -> "PackedLinear":
        return PackedLinear(self.weight[ids], None if self.bias is None else self.bias[ids])


@final
class BFloat16Linear(InferenceMap):
    """x W^T + b with x and W rounded to bfloat16 (8 bits), sums in float32, and the product rounded before b is added.

    A machine without bfloat16 products computes the same, slowly.
    """

    def __init__(self, weight: Float[Tensor, "Out In"], bias: Float[Tensor, " Out"] | None) -> None:
        super().__init__()
        self.weight, self.bias = weight.bfloat16(), bias
        self.packed = _pack(self.weight)

    def forward(self, x: Float[Tensor, "*rows In"]) -> Float[Tensor, "*rows Out"]:
        rounded = x.bfloat16()
        if self.packed is None:
            y = nn.functional.linear(rounded, self.weight)
        else:
            y = _packed_product(rounded, self.packed, None)
        return y.to(x.dtype) if self.bias is None else y + self.bias

    def only(self, ids: Int[Tensor, " U"]) -> "BFloat16Linear":
        return BFloat16Linear(self.weight[ids], None if self.bias is None else self.bias[ids])


@final
class Int8Linear(InferenceMap):
    """x W^T + b with 8-bit integers: q(v) = round(127 v / max |v|), with one scale for each row of W and of x.

    Sums of products of integers are exact, and the scale of a row of x comes from that row alone, so a row gives the
    same result, bit for bit, whatever stands beside it. (A scale for the whole of x, which is torch's dynamic
    quantisation, would make an output depend on its batch.)
    """

    def __init__(
        self, weight: Int[Tensor, "Out In"], scale: Float[Tensor, "Out 1"], bias: Float[Tensor, " Out"] | None
    ) -> None:
        super().__init__()
        self.weight, self.scale, self.bias = weight.T, scale.T, bias  # [In Out], [1 Out], [Out]

    def forward(self, x: Float[Tensor, "*rows In"]) -> Float[Tensor, "*rows Out"]:
        quantised, scale = quantise_rows(x.reshape(-1, x.shape[-1]))
        sums = _integer_product(_with_rows(quantised, usual_size(len(quantised))), self.weight)[: len(quantised)]
        y = (sums * self.scale).mul_(scale)
        if self.bias is not None:
            y += self.bias
        return y.view(*x.shape[:-1], y.shape[-1])

    def only(self, ids: Int[Tensor, " U"]) -> "Int8Linear":
        return Int8Linear(self.weight.T[ids], self.scale.T[ids], None if self.bias is None else self.bias[ids])


def quantise_rows(x: Float[Tensor, "N D"]) -> tuple[Int[Tensor, "N D"], Float[Tensor, "N 1"]]:
    """Quantise each row to integers of -127 to 127 and a scale, so that integers * scale is within scale / 2 of x."""
    scale = x.abs().amax(dim=1, keepdim=True).clamp_(min=torch.finfo(x.dtype).tiny * LEVELS) / LEVELS
    return (x / scale).round_().to(torch.int8), scale


def usual_size(n: int) -> int:
    """Round n up by at most an eighth, to one of 8 sizes between a power of two and the next; up to 16 it stays as it
    is.

    oneDNN compiles a kernel for each size that it meets, in half a millisecond, and keeps it in half a megabyte; and
    while sentences leave a batch, its size changes with nearly each step.
    """
    unit = 1 << max(0, (n - 1).bit_length() - 4)
    return -(-n // unit) * unit


def _with_rows(x: Tensor, n: int) -> Tensor:
    """Pad x [N D] with rows of zeros to n rows."""
    return x if len(x) == n else nn.functional.pad(x, (0, 0, 0, n - len(x)))


def _packed_product(x: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    rows = x.reshape(-1, x.shape[-1])
    wide = _with_rows(rows, usual_size(len(rows)))
    y = torch.ops.mkldnn._linear_pointwise(wide, packed, bias, *_NO_ACTIVATION)[: len(rows)]
    return y.view(*x.shape[:-1], y.shape[-1])


def _integer_product(left: Int[Tensor, "N In"], right: Int[Tensor, "In Out"]) -> Int[Tensor, "N Out"]:
    return torch.ops.aten._int_mm(left, right)


def _pack(weight: Tensor) -> Tensor | None:
    """Pack the weight into oneDNN's layout; None where torch's own kernel is used."""
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return None
    if weight.dtype == torch.bfloat16:
        usable = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    else:
        usable = weight.dtype == torch.float32
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None) if usable else None


def computes_in(precision: Precision | str, device: torch.device) -> bool:
    """Return whether this device has kernels in this precision; bfloat16 works everywhere, though it is not fast
    everywhere.
    """
    return precision != "int8" or (device.type == "cpu" and _int8_is_exact())


def _require_int8(device: torch.device) -> None:
    hint = 'Use precision = "float32" or "bfloat16".'
    if device.type != "cpu":
        raise ConfigError(f'search.precision = "int8" is for the CPU, but the model is on {device.type}.', hint=hint)
    if not _int8_is_exact():
        raise ConfigError(
            'search.precision = "int8", but this machine has no exact product of such integers.', hint=hint
        )


@cache
def _int8_is_exact() -> bool:
    """Return whether the largest products are summed without saturation, which kernels of some older processors do not
    do.
    """
    rows, width, columns = 5, 512, 64
    signs = 1 - 2 * (torch.arange(rows * width).view(rows, width) % 7 == 0).to(torch.int8)
    left, right = LEVELS * signs, torch.full((width, columns), LEVELS, dtype=torch.int8)
    try:
        found = _integer_product(left, right)
    except RuntimeError:  # this build of torch lacks the product for this processor
        return False
    return torch.equal(found.long(), left.long() @ right.long())
