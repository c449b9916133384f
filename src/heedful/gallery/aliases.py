"""What members of the family are called elsewhere, and how each is the member it leads to. Knows no member's facts."""

from typing import NamedTuple


class Alias(NamedTuple):
    """Another name: the member it leads to, and what the name says of it."""

    member: str
    meaning: str


ALIASES = {
    "self-attention": Alias("multi-head", "queries, keys and values come from the same sequence"),
    "cross-attention": Alias("multi-head", "queries come from the decoder, keys and values from the encoder"),
    "encoder-decoder": Alias("multi-head", "queries come from the decoder, keys and values from the encoder"),
    "transformer": Alias("multi-head", "a Transformer is made of it: self-attention, causal in the decoder, and cross"),
    "mha": Alias("multi-head", "an abbreviation"),
    "softmax": Alias("scaled-dot", "softmax is the usual normaliser, here of scaled dot products"),
    "dot-product": Alias("dot", "another name"),
    "scaled-dot-product": Alias("scaled-dot", "another name"),
    "sdpa": Alias("scaled-dot", "an abbreviation"),
    "concat": Alias("additive", "Luong's name"),
    "bilinear": Alias("general", "another name"),
    "multiplicative": Alias("general", "another name"),
    "soft": Alias("bahdanau", "all keys are read, as much as they weigh"),
    "global": Alias("luong", "all keys are read"),
    "local": Alias("local-p", "keys near a position that is predicted; `local-m` reads near the query's own"),
    "masked": Alias("causal", "the mask of a decoder"),
    "window": Alias("restricted", "each position reads its neighbours"),
    "sliding-window": Alias("restricted", "each position reads its neighbours"),
    "rope": Alias("rotary", "an abbreviation"),
    "han": Alias("hierarchical", "an abbreviation"),
    "memory-network": Alias("memory", "another name"),
    "stochastic": Alias("hard", "another name"),
}
