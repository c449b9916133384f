"""The only place of residual, norm and sublayer dropout. Knows nothing of what the sublayer computes."""

from collections.abc import Callable
from typing import Literal, final

from jaxtyping import Float
from torch import Tensor, nn

from heedful.layers.dropout import Dropout


@final
class Sublayer(nn.Module):
    """post: LN(x + dropout(f(x))), the paper's [Vaswani 2017, 3.1 and 5.4]; pre: x + dropout(f(LN(x))).

    A stack of pre-norm sublayers leaves its sum unnormalised, so it needs a norm after its last layer.
    """

    def __init__(self, d_model: int, norm: Literal["post", "pre"], epsilon: float, dropout: float) -> None:
        super().__init__()
        self.normalises_input = norm == "pre"
        self.norm = nn.LayerNorm(d_model, eps=epsilon)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "B L D"], f: Callable[[Tensor], Tensor]) -> Float[Tensor, "B L D"]:
        if self.normalises_input:
            return x + self.dropout(f(self.norm(x)))
        return self.norm(x + self.dropout(f(x)))
