"""How a query reads a memory: one `attend` with four slots. Usable without the rest of Heedful."""

from heedful.attention.core import Attended, attend, fused_attention, scaled_dot_product_attention
from heedful.attention.masks import Mask
from heedful.attention.multihead import KeyValue, MultiHeadAttention
from heedful.attention.normalise import Normaliser, Softmax, softmax
from heedful.attention.scores import Additive, Cosine, General, Score, dot, scaled_dot
from heedful.attention.trace import Map, Trace

__all__ = [
    "Additive",
    "Attended",
    "Cosine",
    "General",
    "KeyValue",
    "Map",
    "Mask",
    "MultiHeadAttention",
    "Normaliser",
    "Score",
    "Softmax",
    "Trace",
    "attend",
    "dot",
    "fused_attention",
    "scaled_dot",
    "scaled_dot_product_attention",
    "softmax",
]
