"""The members of the attention family, in the order in which `heedful attention list` and docs/attention show them.

Each: name, page, score, mask, normalise, aggregate, equation, source, symbols, and what it is not good for. Knows no
numbers.
"""

SOFTMAX, SUM = "softmax", "weighted sum"
Facts = tuple[str, str, str, str, str, str, str, str, tuple[str, ...], str]

MEMBERS: tuple[Facts, ...] = (
    (
        "dot", "scores", "dot", "any", SOFTMAX, SUM, "softmax(q . k) v", "Luong 2015, 3.1", ("attention.dot",),
        "Wide vectors: its variance grows with d_k, and the softmax saturates. It also favours long keys.",
    ),
    (
        "scaled-dot", "scores", "scaled dot", "any", SOFTMAX, SUM, "softmax(Q K^T / sqrt(d_k)) V",
        "Vaswani 2017, 3.2.1, Eq. 1", ("attention.scaled_dot", "attention.scaled_dot_product_attention"),
        "Queries and keys of different widths; it favours long keys as dot does.",
    ),
    (
        "cosine", "scores", "cosine", "any", SOFTMAX, SUM, "softmax(q . k / (|q| |k| temperature)) v",
        "Graves 2014, Eq. 6", ("attention.Cosine",),
        "Sharp choices at temperature 1: scores lie in [-1, 1], so no weight can be much larger than another.",
    ),
    (
        "additive", "scores", "additive", "any", SOFTMAX, SUM, "softmax(w . tanh(W_q q + W_k k)) v",
        "Bahdanau 2015, A.1.2; Luong 2015, 3.1 (concat)", ("attention.Additive",),
        "Long sequences: it holds T x S x width numbers, where a dot product holds T x S.",
    ),
    (
        "general", "scores", "bilinear", "any", SOFTMAX, SUM, "softmax(q W k) v", "Luong 2015, 3.1",
        ("attention.General",), "Small data with wide states: W has as many numbers as the product of both widths.",
    ),
    (
        "location", "scores", "of the query alone", "any", SOFTMAX, SUM, "softmax(W q) v", "Luong 2015, 3.1, Eq. 8",
        ("attention.Location",), "Anything that depends on what stands at a position, or longer than it was made for.",
    ),
    (
        "causal", "masks", "any", "keys up to the query", "any", "any", "s_ij = -inf for j > i",
        "Vaswani 2017, 3.2.3", ("attention.Mask.causal",), "Reading: whoever has the whole text should look both ways.",
    ),
    (
        "padding", "masks", "any", "real keys", "any", "any", "s_ij = -inf where j is filler", "Vaswani 2017, 3.2.3",
        ("attention.Mask.key_padding",), "Hiding pairs: it hides a key from every query.",
    ),
    (
        "argmax", "normalisers", "any", "any", "argmax", SUM, "the best key's v; no gradient", "the limit of softmax",
        ("attention.Argmax",), "Training: no gradient reaches the scores.",
    ),
    (
        "straight-through", "normalisers", "any", "any", "argmax, backward softmax", SUM,
        "argmax + softmax - stop(softmax)", "Bengio 2013", ("attention.StraightThrough",),
        "An honest gradient: it is that of another function, and training may drift.",
    ),
    (
        "sparsemax", "normalisers", "any", "any", "sparsemax", SUM, "argmin over the simplex of |p - s|^2",
        "Martins 2016, Algorithm 1", ("attention.Sparsemax",),
        "Speed on long memories: it sorts. A key outside the support gets no gradient.",
    ),
    (
        "attention-sum", "aggregates", "dot", "padding", SOFTMAX, "scatter-sum by word",
        "P(w) = sum of a_s over the positions s where w stands", "Kadlec 2016", ("attention.ScatterSum",),
        "Answers that do not stand in the document.",
    ),
    (
        "multi-head", "multi-head", "scaled dot, in H projections", "any", SOFTMAX, SUM,
        "Concat(head_1 .. head_H) W_O", "Vaswani 2017, 3.2.2", ("attention.MultiHeadAttention",),
        "Narrow models: at a fixed width more heads are smaller heads.",
    ),
    (
        "restricted", "restricted", "of pairs", "|i - j| <= r / 2, with r odd: r keys", "any", SUM,
        "softmax over a window, in blocks: O(r n d)", "Vaswani 2017, 4",
        ("layers.banded.restricted_attention", "layers.banded.banded_attention", "attention.Mask.around"),
        "Words far apart: from one end a signal needs (n - 1) / radius layers, about 2 n / r, to reach the other.",
    ),
    (
        "relative", "positions", "scaled dot, of k + a for the distance", "any", SOFTMAX, "weighted sum, also of v + a",
        "e_ij = q_i . (k_j + a^K_ij) / sqrt(d_k); z_i = sum_j w_ij (v_j + a^V_ij)", "Shaw 2018, Eq. 3-5",
        ("layers.relative.RelativeEmbeddings", "attention.RelativePositions"),
        "Distances beyond k, which are all one.",
    ),
    (
        "t5", "positions", "scaled dot, plus a number for the bucket of the distance", "any", SOFTMAX, SUM,
        "softmax(q_i . k_j / sqrt(d_k) + b(j - i)) v_j", "Raffel 2020, 2.1", ("layers.relative.BucketedBias",),
        "Words that want different distances: the bias of a head is the same for each of them.",
    ),
    (
        "rotary", "positions", "scaled dot, of vectors turned by position", "any", SOFTMAX, SUM,
        "(R_i q_i) . (R_j k_j) = q_i . R_(j-i) k_j", "Su 2021, Eq. 34", ("layers.relative.RotaryPositions",),
        "Sequences much longer than in training: slow columns then reach angles that were never seen.",
    ),
    (
        "alibi", "positions", "scaled dot, minus m |i - j|", "any", SOFTMAX, SUM,
        "softmax(q_i . k_j / sqrt(d_k) - m |i - j|) v_j", "Press 2022, 3", ("layers.relative.ALiBi",),
        "Encoders: left and right look alike, so that order is learnt slowly. Steep heads never see words far apart.",
    ),
    (
        "bottleneck", "rnn", "none", "none", "none", "the last state", "c = h_S; s_t = f(s_t-1, y_t-1, c)",
        "Cho 2014, 2.2; Sutskever 2014", ("models.rnn.RNN", "models.rnn_decoders.BottleneckDecoder"),
        "Long sources: all of it must fit into one vector of fixed size.",
    ),
    (
        "bahdanau", "bahdanau", "additive, of the state before the step", "padding", SOFTMAX, SUM,
        "c_i = softmax(v . tanh(W s_i-1 + U h)) h; s_i = f(s_i-1, y_i-1, c_i)", "Bahdanau 2015, 3.1, A.1.2",
        ("models.rnn_decoders.BahdanauDecoder",), "Speed: steps come one after the other, in training too.",
    ),
    (
        "luong", "luong", "dot, general, concat or location, of the state after the step", "padding", SOFTMAX, SUM,
        "tanh(W_c [softmax(score(h_t, h)) h; h_t])", "Luong 2015, 3.1, Eq. 5", ("models.rnn_decoders.LuongDecoder",),
        "Remembering what was read, unless input feeding hands it on; that makes it as slow as Bahdanau's.",
    ),
    (
        "local-m", "luong", "any", "|s - t| <= D", SOFTMAX, SUM, "softmax over a window around t", "Luong 2015, 3.2",
        ("attention.Mask.around",), "Word order that differs, and sources whose length is not the target's.",
    ),
    (
        "local-p", "luong", "any", "|s - p_t| <= D", "softmax times a Gaussian, sums to less than 1", SUM,
        "softmax(s) exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2", "Luong 2015, 3.2, Eq. 9, 10",
        ("attention.LocalP", "attention.PositionPredictor"),
        "Short sources, where the window saves nothing; it is as good as the position that it predicts.",
    ),
    (
        "multi-step", "convs2s", "dot, in each layer of the decoder", "padding", SOFTMAX,
        "weighted sum of z + e, times sqrt(S)", "a_ij = softmax_j(d_i . z_j); c_i = sqrt(S) sum_j a_ij (z_j + e_j)",
        "Gehring 2017, 3.3, Eq. 1, 2", ("models.convs2s.ConvS2S", "models.convs2s.ConvDecoderLayer"),
        "Dependencies longer than its receptive field, 1 + L (k - 1) words for L layers of kernel k.",
    ),
    (
        "ctc", "ctc", "none", "none", "none", "none: a label or a blank at each position",
        "p(y | x) = sum over paths that collapse to y of prod_t p(path_t | x)", "Graves 2006, 3.1, 4.1",
        ("models.ctc.CTC",), "Targets in another order, or longer than the source has positions.",
    ),
    (
        "tagging", "tagging", "none, or scaled dot in a Transformer encoder", "padding", "none, or softmax",
        "none: a label at each word", "p(y_s | x) = softmax(W h_s + b)", "Graves 2005; Vaswani 2017, 3.1",
        ("models.tagger.Tagger",), "Targets of another length. Neighbouring labels do not know of each other.",
    ),
    (
        "structured", "structured", "r constant queries", "padding", SOFTMAX, SUM,
        "A = softmax(W_2 tanh(W_1 H^T)), M = A H, |A A^T - I|^2", "Lin 2017, Eq. 6-8",
        ("attention.Pooling", "attention.overlap_penalty", "gallery.pooling.poolings.StructuredPooling"),
        "Short sentences: there are not enough different positions for r rows, and the penalty cannot reach 0.",
    ),
    (
        "hierarchical", "hierarchical", "constant query, twice", "padding", SOFTMAX, SUM,
        "softmax(u . tanh(W h + b)) h, over words, then over sentences", "Yang 2016, Eq. 5-10",
        ("attention.Pooling", "gallery.hierarchical.model.Hierarchical"),
        "Facts spread over sentences: words of different sentences meet only as sums.",
    ),
    (
        "attention-over-attention", "attention-over-attention", "dot", "padding", "softmax along each axis",
        "scatter-sum by word", "s = alpha^T mean_t beta(t); P(w) = sum of s where w stands", "Cui 2017, Eq. 5-10",
        (
            "gallery.layers.memory.attention_over_attention", "attention.ScatterSum",
            "gallery.reading.reader.StoryReader",
        ),
        "Answers that do not stand in the document.",
    ),
    (
        "memory", "memory", "dot", "empty slots", SOFTMAX, SUM, "u + sum_i softmax(u . m_i) c_i, hop after hop",
        "Sukhbaatar 2015; Miller 2016", ("gallery.layers.memory.Hops", "gallery.reading.memory_network.MemoryNetwork"),
        "Order within a fact: a slot is a bag of words, but for what position encoding keeps.",
    ),
    (
        "coupled", "coupled", "GRU over bilinear forms, two heads", "padding", SOFTMAX, SUM,
        "softmax(v . GRU([tanh(h G u) : tanh(h D u')])) h", "Wang 2017",
        ("attention.CoupledTensor", "gallery.coupled.model.Coupled"),
        "Speed: a recurrent network reads the features of each head in turn, and K forms cost K d^2 numbers each.",
    ),
    (
        "feature-wise", "feature-wise", "additive, a number a feature", "strictly past or future",
        "softmax for each feature", "elementwise", "softmax(c tanh((W_1 x_i + W_2 x_j + b) / c)) * x_i",
        "Shen 2018, 3.1-3.3",
        (
            "attention.FeatureWise", "attention.SourceToToken", "attention.elementwise", "attention.Mask.past",
            "attention.Mask.future", "gallery.pooling.directional.DirectionalEncoder",
        ),
        "Long sequences: it holds n^2 d weights.",
    ),
    (
        "both-ways", "both-ways", "dot", "padding", "softmax along each axis", SUM,
        "a~_i = sum_j softmax_j(a_i . b_j) b_j, b~_j likewise", "Chen 2017, Eq. 11-13",
        ("gallery.layers.memory.align_both_ways", "gallery.esim.model.ESIM"),
        "Comparing one text with many: nothing can be computed before the pair is known.",
    ),
    (
        "keywords", "keywords", "constant query", "padding", SOFTMAX, "the N heaviest, sorted, joined",
        "[x_1 w_1 / stop(w_1); ..; x_N w_N / stop(w_N)], w sorted", "the keyword model",
        ("attention.Pooling", "attention.GatherTop", "gallery.pooling.poolings.KeywordPooling"),
        "Texts with more than N telling words, and word order: the heaviest come first, wherever they stood.",
    ),
    (
        "hard", "hard", "any", "any", "one key drawn", SUM,
        "s ~ softmax; grad log p(y|s) + (log p(y|s) - b) grad log p(s)", "Xu 2015, 4.1",
        (
            "attention.Sample", "attention.attend_drawn", "gallery.pooling.reinforce.reinforce",
            "gallery.pooling.query_pooling.HardPooling",
        ),
        "Quick training: the gradient is unbiased and noisy, also with a baseline.",
    ),
    (
        "top-k", "top-k", "any", "any", "softmax of the k best", SUM, "w_i / sum of the k largest w, exactly k kept",
        "after tensor2tensor, which keeps k - 1", ("attention.TopK",),
        "Learning which keys matter early on: what is not among the k best gets no gradient.",
    ),
    (
        "layer-mix", "gates", "a number a layer", "none", SOFTMAX, "weighted sum over layers",
        "gamma sum_l softmax(w)_l h_l", "Peters 2018, Eq. 1", ("layers.mix.LayerMix",),
        "Choosing a layer for each word: the weights are the same everywhere.",
    ),
    (
        "temporal", "gates", "constant query", "silence or padding", SOFTMAX, SUM,
        "softmax_t(u . tanh(W h_t + b)) h_t", "Yang 2016, over frames", ("attention.Pooling",),
        "What depends on the order of frames: the sum has none.",
    ),
    (
        "channel-gate", "gates", "none", "none", "sigmoid, sums to nothing", "none: rescales",
        "x_c sigma(W_2 relu(W_1 mean(x)))_c", "Hu 2018, 3.1, 3.2", ("gallery.layers.gates.ChannelGate",),
        "Where something stands: it sees only the mean of a channel.",
    ),
    (
        "spatial-gate", "gates", "none", "none", "sigmoid, sums to nothing", "none: rescales",
        "x sigma(conv7([mean_c x; max_c x]))", "Woo 2018, Eq. 3", ("gallery.layers.gates.SpatialGate",),
        "What is there: it sees only the mean and the maximum of the channels.",
    ),
    (
        "mixed-gate", "gates", "none", "none", "sigmoid, sums to nothing", "none: rescales",
        "the channel gate, then the spatial gate", "Woo 2018, Eq. 1", ("gallery.layers.gates.MixedGate",),
        "Choosing: a gate never reaches 0 or 1, and nothing is left out.",
    ),
)  # fmt: skip
