"""From `model.positions` to its parts: the one table of kinds. A kind has one part or the other, or neither."""

from heedful.attention import RelativePositions
from heedful.layers.position import LearnedPositions, NoPositions, Positions, SinusoidalPositions
from heedful.layers.relative import ALiBi, BucketedBias, RelativeEmbeddings, RotaryPositions
from heedful.models.transformer_config import TransformerConfig


def added_positions(config: TransformerConfig) -> Positions:
    """Return what is added to the embeddings of one side."""
    match config.positions:
        case "sinusoidal" | "t2t":
            return SinusoidalPositions(config.d_model, config.positions)
        case "learned":
            return LearnedPositions(config.d_model, config.max_positions)
        case _:
            return NoPositions(config.d_model)


def relative_positions(config: TransformerConfig, n_layers: int, *, causal: bool) -> list[RelativePositions | None]:
    """Return what the self-attention of each layer of a stack is told; one part may serve all of them."""
    match config.positions:
        case "relative":
            value_width = config.head_value_width if config.relative_values else None
            sizes = config.head_key_width, config.clip_distance, value_width
            return [RelativeEmbeddings(*sizes) for _ in range(n_layers)]
        case "t5":
            return [BucketedBias(config.n_heads, config.n_buckets, config.max_distance, causal=causal)] * n_layers
        case "rotary":
            return [RotaryPositions(config.head_key_width)] * n_layers
        case "alibi":
            return [ALiBi(config.n_heads)] * n_layers
        case _:
            return [None] * n_layers
