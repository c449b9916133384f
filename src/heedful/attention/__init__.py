"""How a query reads a memory: one `attend` with four slots. Usable without the rest of Heedful."""

from heedful.attention.aggregate import Aggregate, GatherTop, ScatterSum, elementwise, weighted_sum
from heedful.attention.core import (
    Attended,
    SampledAttention,
    attend,
    attend_drawn,
    fused_attention,
    scaled_dot_product_attention,
)
from heedful.attention.local import LocalP, PositionPredictor
from heedful.attention.masks import Mask
from heedful.attention.multihead import KeyValue, MultiHeadAttention
from heedful.attention.normalise import Argmax, Normaliser, Sample, Softmax, Sparsemax, StraightThrough, TopK, softmax
from heedful.attention.pooling import Pooled, Pooling, overlap_penalty
from heedful.attention.relative import RelativePositions
from heedful.attention.scores import (
    Additive,
    Cosine,
    CoupledTensor,
    FeatureWise,
    General,
    Location,
    Score,
    SourceToToken,
    dot,
    scaled_dot,
)
from heedful.trace import Map, Trace

__all__ = [
    "Additive",
    "Aggregate",
    "Argmax",
    "Attended",
    "Cosine",
    "CoupledTensor",
    "FeatureWise",
    "GatherTop",
    "General",
    "KeyValue",
    "LocalP",
    "Location",
    "Map",
    "Mask",
    "MultiHeadAttention",
    "Normaliser",
    "Pooled",
    "Pooling",
    "PositionPredictor",
    "RelativePositions",
    "Sample",
    "SampledAttention",
    "ScatterSum",
    "Score",
    "Softmax",
    "SourceToToken",
    "Sparsemax",
    "StraightThrough",
    "TopK",
    "Trace",
    "attend",
    "attend_drawn",
    "dot",
    "elementwise",
    "fused_attention",
    "overlap_penalty",
    "scaled_dot",
    "scaled_dot_product_attention",
    "softmax",
    "weighted_sum",
]  # fmt: skip
