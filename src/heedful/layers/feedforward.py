"""The position-wise feed-forward network. Knows no time: each position is mapped alone, by the same weights."""

from typing import Literal, final

from jaxtyping import Float
from torch import Tensor, nn

from heedful.layers.dropout import Dropout

Activation = Literal["relu", "gelu", "swish"]
ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "swish": nn.SiLU}


@final
class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2. [Vaswani 2017, 3.3, Eq. 2] "gelu" or "swish", x sigmoid(x), takes the
    place of max(0, .).
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation, dropout: float) -> None:
        super().__init__()
        self.widen = nn.Linear(d_model, d_ff)
        self.narrow = nn.Linear(d_ff, d_model)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = Dropout(dropout)
        for linear in (self.widen, self.narrow):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        return self.narrow(self.dropout(self.activation(self.widen(x))))
