"""Keeping attention weights for inspection, where somebody asked for them. Knows no model."""

from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention import Map, Mask


def check_evaluating(model: nn.Module, maps: list[Map] | None) -> None:
    """Raises ValueError where maps are asked for in training, when dropout has a part in them."""
    if maps is not None and model.training:
        raise ValueError("Attention maps are taken in eval mode only: call `model.eval()` first.")


def record(maps: list[Map] | None, name: str, weights: Float[Tensor, "B H T S"] | None, mask: Mask) -> None:
    """Append the first sentence's weights and mask, if there is a list."""
    if maps is not None and weights is not None:
        visible = mask.visible.expand(-1, -1, weights.shape[2], weights.shape[3])[0]
        maps.append(Map(name, weights[0].detach().float(), visible))
