"""Keeping attention weights for inspection, within a scope. Knows no model, and runs no attention."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention import Map, Mask

_OPEN: ContextVar[list[Map] | None] = ContextVar("maps that are being recorded", default=None)


@contextmanager
def recorded_maps(model: nn.Module) -> Iterator[list[Map]]:
    """Open a scope in which a model keeps the attention maps of the first sentence, in the list that is given.

    Raises ValueError in training, when dropout has a part in them.
    """
    if any(module.training for module in model.modules()):
        raise ValueError("Attention maps are taken in eval mode only: call `model.eval()` first.")
    maps: list[Map] = []
    outer = _OPEN.set(maps)
    try:
        yield maps
    finally:
        _OPEN.reset(outer)


def is_recording() -> bool:
    """Tell whether weights are wanted, so that the explicit path has to be taken."""
    return _OPEN.get() is not None


def record(name: str, weights: Float[Tensor, "B H T S"] | None, mask: Mask) -> None:
    """Keep the first sentence's weights and mask, where a scope is open."""
    maps = _OPEN.get()
    if maps is not None and weights is not None:
        visible = mask.visible.expand(-1, -1, weights.shape[2], weights.shape[3])[0]
        maps.append(Map(name, weights[0].detach().float(), visible))
