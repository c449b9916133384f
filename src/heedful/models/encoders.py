"""Reading a sequence into one vector a token: by recurrent cells, or by the encoder of the Transformer.

Knows no tokens and no answer. Both map x [B S D] and the mask of real tokens to what each layer made of it [B S H],
from the bottom up; padding has no part in what real tokens become.
"""

from abc import ABC, abstractmethod
from typing import Literal, final

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.attention import Mask
from heedful.layers.recurrent import recur
from heedful.models.positions import added_positions, relative_positions
from heedful.models.rnn_decoders import CELLS
from heedful.models.transformer import EncoderLayer, Stack, final_norm
from heedful.models.transformer_config import TransformerConfig


class Encoder(nn.Module, ABC):
    """Vectors in, vectors of `width` out."""

    width: int

    @abstractmethod
    def forward(self, x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]) -> list[Float[Tensor, "B S H"]]:
        """Return the output of each layer. `real` must be True first and then False."""


@final
class WordsAlone(Encoder):
    """Each vector as it is, `n_layers` times: what a model knows without any neighbour."""

    def __init__(self, width: int, n_layers: int = 1) -> None:
        super().__init__()
        self.width, self.n_layers = width, n_layers

    def forward(self, x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]) -> list[Float[Tensor, "B S H"]]:
        return [x] * self.n_layers


@final
class RecurrentEncoder(Encoder):
    """h_s = f(x_s, h_{s-1}), layer upon layer; two directions stand side by side and have half of the width each.

    Zero where there is padding; a sequence may be empty. `dropout` is between layers.
    """

    def __init__(
        self,
        d_in: int,
        width: int,
        cell: Literal["gru", "lstm"] = "gru",
        n_layers: int = 1,
        *,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if bidirectional and width % 2:
            raise ValueError(f"`width` must be even for two directions, but is {width}.")
        self.width = width
        hidden = width // 2 if bidirectional else width
        inputs = [d_in, *[width] * (n_layers - 1)]
        self.layers = nn.ModuleList(
            CELLS[cell](n, hidden, batch_first=True, bidirectional=bidirectional) for n in inputs
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]) -> list[Float[Tensor, "B S H"]]:
        found: list[Tensor] = []
        for layer in self.layers:
            assert isinstance(layer, nn.GRU | nn.LSTM)
            found.append(recur(layer, self.dropout(found[-1]) if found else x, real))
        return found


@final
class TransformerEncoder(Encoder):
    """Positions, then self-attention and feed-forward layers. [Vaswani 2017, 3.1]"""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.width = config.d_model
        self.positions = added_positions(config)
        relative = relative_positions(config, config.n_encoder_layers, causal=False)
        self.layers = Stack(EncoderLayer(config, part) for part in relative)
        self.norm = final_norm(config)

    def forward(self, x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]) -> list[Float[Tensor, "B S H"]]:
        x = x + self.positions(x.shape[1])
        mask = Mask.key_padding(real)
        found: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, f"encoder.{number}")
            found.append(x)
        return [*found[:-1], self.norm(found[-1])]


def pre_norm_encoder(d_model: int, n_heads: int, n_layers: int, dropout: float) -> TransformerEncoder:
    """Build the encoder of encoder-only models: pre-norm, relu, and d_ff = 4 d_model as in the paper."""
    config = TransformerConfig(
        d_model=d_model,
        n_heads=n_heads,
        d_ff=4 * d_model,
        n_encoder_layers=n_layers,
        norm="pre",
        activation="relu",
        dropout=dropout,
    )
    return TransformerEncoder(config)
