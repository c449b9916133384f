"""The members of the attention family: what each puts into the four slots, its equation and where it comes from.

Words only; `symbols` says where the parts themselves are, below `heedful`. Knows no numbers.
"""

from difflib import get_close_matches
from typing import NamedTuple

from heedful.errors import ConfigError

SOFTMAX, SUM = "softmax", "weighted sum"


class Member(NamedTuple):
    """One kind of attention. A slot that says "any" takes what the others take."""

    name: str
    score: str
    mask: str
    normalise: str
    aggregate: str
    equation: str
    source: str
    symbols: tuple[str, ...]


FAMILY = (
    Member("dot", "dot", "any", SOFTMAX, SUM, "softmax(q . k) v", "Luong 2015, Eq. 8", ("attention.dot",)),
    Member(
        "scaled-dot", "scaled dot", "any", SOFTMAX, SUM,
        "softmax(Q K^T / sqrt(d_k)) V", "Vaswani 2017, 3.2.1, Eq. 1",
        ("attention.scaled_dot", "attention.scaled_dot_product_attention"),
    ),
    Member(
        "multi-head", "scaled dot, in H projections", "any", SOFTMAX, SUM,
        "Concat(head_1 .. head_H) W_O", "Vaswani 2017, 3.2.2", ("attention.MultiHeadAttention",),
    ),
    Member(
        "cosine", "cosine", "any", SOFTMAX, SUM,
        "softmax(q . k / (|q| |k| temperature)) v", "Graves 2014, Eq. 6", ("attention.Cosine",),
    ),
    Member(
        "additive", "additive", "any", SOFTMAX, SUM,
        "softmax(w . tanh(W_q q + W_k k)) v", "Bahdanau 2015, A.1.2; Luong 2015, 3.1 (concat)", ("attention.Additive",),
    ),
    Member("general", "bilinear", "any", SOFTMAX, SUM, "softmax(q W k) v", "Luong 2015, Eq. 8", ("attention.General",)),
    Member(
        "location", "of the query alone", "any", SOFTMAX, SUM, "softmax(W q) v", "Luong 2015, 3.1",
        ("attention.Location",),
    ),
    Member(
        "causal", "any", "keys up to the query", "any", "any",
        "s_ij = -inf for j > i", "Vaswani 2017, 3.2.3", ("attention.Mask.causal",),
    ),
    Member(
        "restricted", "of pairs", "|i - j| <= r / 2", "any", SUM,
        "softmax over a window, in blocks: O(r n d)", "Vaswani 2017, 4",
        ("layers.banded.restricted_attention", "layers.banded.banded_attention", "attention.Mask.around"),
    ),
    Member(
        "local-m", "any", "|s - t| <= D", SOFTMAX, SUM,
        "softmax over a window around t", "Luong 2015, 3.2", ("attention.Mask.around",),
    ),
    Member(
        "local-p", "any", "|s - p_t| <= D", "softmax times a Gaussian, sums to less than 1", SUM,
        "softmax(s) exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2", "Luong 2015, 3.2",
        ("attention.LocalP", "attention.PositionPredictor"),
    ),
    Member(
        "hard", "any", "any", "one key drawn", SUM,
        "s ~ softmax; grad log p(y|s) + (log p(y|s) - b) grad log p(s)", "Xu 2015, 4.1",
        ("attention.Sample", "attention.attend_drawn"),
    ),
    Member(
        "straight-through", "any", "any", "argmax, backward softmax", SUM,
        "argmax + softmax - stop(softmax)", "Bengio 2013", ("attention.StraightThrough",),
    ),
    Member(
        "argmax", "any", "any", "argmax", SUM, "the best key's v; no gradient", "the limit of softmax",
        ("attention.Argmax",),
    ),
    Member(
        "top-k", "any", "any", "softmax of the k best", SUM,
        "w_i / sum of the k largest w, exactly k kept", "after tensor2tensor, which keeps k - 1", ("attention.TopK",),
    ),
    Member(
        "sparsemax", "any", "any", "sparsemax", SUM,
        "argmin over the simplex of |p - s|^2", "Martins 2016, Algorithm 1", ("attention.Sparsemax",),
    ),
    Member(
        "keywords", "constant query", "padding", SOFTMAX, "the N heaviest, sorted, joined",
        "[w_1 x_1; ..; w_N x_N], w sorted", "the keyword model", ("attention.Pooling", "attention.GatherTop"),
    ),
    Member(
        "hierarchical", "constant query, twice", "padding", SOFTMAX, SUM,
        "softmax(u . tanh(W h + b)) h, over words, then over sentences", "Yang 2016, Eq. 5-10", ("attention.Pooling",),
    ),
    Member(
        "structured", "r constant queries", "padding", SOFTMAX, SUM,
        "A = softmax(W_2 tanh(W_1 H^T)), M = A H, |A A^T - I|^2", "Lin 2017, Eq. 6-8",
        ("attention.Pooling", "attention.overlap_penalty"),
    ),
    Member(
        "temporal", "constant query", "silence or padding", SOFTMAX, SUM,
        "softmax_t(u . tanh(W h_t + b)) h_t", "Yang 2016, over frames", ("attention.Pooling",),
    ),
    Member(
        "layer-mix", "a number a layer", "none", SOFTMAX, "weighted sum over layers",
        "gamma sum_l softmax(w)_l h_l", "Peters 2018, Eq. 1", ("layers.mix.LayerMix",),
    ),
    Member(
        "feature-wise", "additive, a number a feature", "strictly past or future", "softmax for each feature",
        "elementwise", "softmax(c tanh((W_1 x_i + W_2 x_j + b) / c)) * x_i", "Shen 2018, 3",
        (
            "attention.FeatureWise", "attention.SourceToToken", "attention.elementwise",
            "attention.Mask.past", "attention.Mask.future",
        ),
    ),
    Member(
        "coupled", "GRU over bilinear forms, two heads", "padding", SOFTMAX, SUM,
        "softmax(v . GRU([tanh(h G u) : tanh(h D u')])) h", "Wang 2017", ("attention.CoupledTensor",),
    ),
    Member(
        "both-ways", "dot", "padding", "softmax along each axis", SUM,
        "a~_i = sum_j softmax_j(a_i . b_j) b_j, b~_j likewise", "Chen 2017, Eq. 11-13", ("attention.align_both_ways",),
    ),
    Member(
        "attention-over-attention", "dot", "padding", "softmax along each axis", "scatter-sum by word",
        "s = alpha^T mean_t beta(t); P(w) = sum of s where w stands", "Cui 2017, Eq. 5-10",
        ("attention.attention_over_attention", "attention.ScatterSum"),
    ),
    Member(
        "memory", "dot", "empty slots", SOFTMAX, SUM,
        "u + sum_i softmax(u . m_i) c_i, hop after hop", "Sukhbaatar 2015; Miller 2016", ("attention.Hops",),
    ),
    Member(
        "channel-gate", "none", "none", "sigmoid, sums to nothing", "none: rescales",
        "x_c sigma(W_2 relu(W_1 mean(x)))_c", "Hu 2018, 3.1, 3.2", ("layers.gates.ChannelGate",),
    ),
    Member(
        "spatial-gate", "none", "none", "sigmoid, sums to nothing", "none: rescales",
        "x sigma(conv7([mean_c x; max_c x]))", "Woo 2018, Eq. 3", ("layers.gates.SpatialGate",),
    ),
    Member(
        "mixed-gate", "none", "none", "sigmoid, sums to nothing", "none: rescales",
        "the channel gate, then the spatial gate", "Woo 2018, Eq. 1", ("layers.gates.MixedGate",),
    ),
)  # fmt: skip


def find_member(name: str) -> Member:
    """The member of this name; ConfigError that names the nearest."""
    names = [member.name for member in FAMILY]
    if name not in names:
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"Near to it: {', '.join(near)}." if near else "`heedful attention list` shows all."
        raise ConfigError(f"There is no attention called {name!r}.", hint=hint)
    return FAMILY[names.index(name)]
