"""From scores to weights. The only place that may softmax scores, and the only place that applies masks.

Knows no query, key or value. A row with nothing to attend gets zero weights and zero gradient.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, final

from jaxtyping import Float
from torch import Tensor

from heedful.attention.masks import Mask


class Normaliser(ABC):
    """A map from scores [B H T S] and a mask to weights of the same shape."""

    axis: ClassVar[int]
    """The axis along which weights compete."""
    sums_to_one: ClassVar[bool]
    """Whether the weights of a row with something to attend sum to 1."""

    @abstractmethod
    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        """The weights; exactly 0 where the mask is False."""


@final
class Softmax(Normaliser):
    """exp(s) / sum exp(s) over the keys that may be seen. [Vaswani 2017, 3.2.1, Eq. 1]

    Computed in float32 whatever the dtype of the scores; masked keys never take part, however negative the others are.
    """

    axis = -1
    sums_to_one = True

    def __call__(self, scores: Float[Tensor, "B H T S"], mask: Mask | None) -> Float[Tensor, "B H T S"]:
        exact = scores if scores.dtype.itemsize >= 4 else scores.float()
        if mask is None:
            return exact.softmax(dim=-1).to(scores.dtype)
        empty = ~mask.visible.any(dim=-1, keepdim=True)  # [B|1 H|1 T|1 1]
        # An empty row is made harmless before the softmax and zeroed after it, so that no NaN is ever formed, not
        # even in a gradient.
        hidden = exact.masked_fill(~mask.visible, float("-inf")).masked_fill(empty, 0.0)
        return hidden.softmax(dim=-1).masked_fill(empty, 0.0).to(scores.dtype)


softmax = Softmax()
