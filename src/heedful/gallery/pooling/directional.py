"""DiSAN's encoder: two blocks of directional self-attention, with a weight for each feature or for each word.

Knows no tokens. Shapes: B sentences, S tokens, D width of what is read, W width of a block.
"""

from typing import Literal, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.attention import Additive, FeatureWise, Mask, attend, elementwise, weighted_sum
from heedful.errors import HeedfulError
from heedful.layers.dropout import Dropout
from heedful.models.encoders import Encoder
from heedful.models.recording import is_recording, record

Weighing = Literal["features", "words"]
Direction = Literal["past", "future"]


class DirectionalBlock(nn.Module):
    """u = F * h + (1 - F) * s, with h = elu(W x + b), s what each position reads in h of those before it, or after it,
    and the fusion gate F = sigmoid(W_s s + W_h h + b). [Shen 2018, 3.3]

    Nobody reads themselves, so the first place, or the last, reads nothing: there s = 0. With a weight for each of the
    `words` the score is the additive one, which has exactly as many parameters.
    """

    def __init__(self, d_in: int, width: int, direction: Direction, weighing: Weighing) -> None:
        super().__init__()
        self.direction: Direction = direction
        self.enter = nn.Linear(d_in, width)
        self.score = FeatureWise(width) if weighing == "features" else Additive(width, width, width)
        self.aggregate = elementwise if weighing == "features" else weighted_sum
        self.fuse = nn.Linear(2 * width, width)

    def forward(
        self, x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S W"], Float[Tensor, "B H S S"]]:
        """Compute the new vectors, and the weights: H is W, the features, or 1."""
        h = nn.functional.elu(self.enter(x))
        mask = directed(self.direction, real)
        slots = {"score": self.score, "mask": mask, "aggregate": self.aggregate}
        read = attend(h[:, None], h[:, None], h[:, None], **slots)
        assert read.weights is not None
        s = read.context[:, 0]
        gate = torch.sigmoid(self.fuse(torch.cat([s, h], dim=-1)))
        return gate * h + (1 - gate) * s, read.weights


def directed(direction: Direction, real: Bool[Tensor, "B S"]) -> Mask:
    """Mask all but the real words strictly before, or after."""
    length = real.shape[1]
    strict = Mask.past(length, real.device) if direction == "past" else Mask.future(length, real.device)
    return strict & Mask.key_padding(real)


@final
class DirectionalEncoder(Encoder):
    """A forward and a backward block side by side, each with parameters of its own. [Shen 2018, 4]

    Both hold B S^2 W scores at once: more than `max_scores` of them are refused. Maps are means over the features.
    """

    def __init__(self, d_model: int, weighing: Weighing, max_scores: int, dropout: float) -> None:
        super().__init__()
        self.width = 2 * d_model
        self.max_scores = max_scores
        self.dropout = Dropout(dropout)
        self.forward_block = DirectionalBlock(d_model, d_model, "past", weighing)
        self.backward_block = DirectionalBlock(d_model, d_model, "future", weighing)

    def forward(self, x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]) -> list[Float[Tensor, "B S H"]]:
        """Encode the words. Raises HeedfulError where a batch needs too many scores at once."""
        batch, length, width = x.shape
        if (scores := batch * length**2 * width) > self.max_scores:
            raise HeedfulError(
                f"{batch} sentences of {length} tokens need {scores:,} scores of words and features at once, "
                f"more than model.max_scores ({self.max_scores:,}).",
                hint="Lower training.max_tokens, search.max_tokens or data.max_length, or raise model.max_scores.",
            )
        found = []
        for number, block in enumerate((self.forward_block, self.backward_block)):
            u, weights = block(x, real)
            if is_recording():
                mean = weights.mean(dim=1, keepdim=True)
                record(f"encoder.{number}.self", mean, directed(block.direction, real))
            found.append(u)
        return [self.dropout(torch.cat(found, dim=-1))]
