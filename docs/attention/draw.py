"""The pictures of these pages: each mechanism on fixed numbers, as a table of weights in [0, 1]. Nothing is trained."""

from collections.abc import Callable

import draw_models
import torch
from panels import SEED, Axis, numbers, table, weights_of
from torch import Tensor

from heedful.attention import (
    Additive,
    Argmax,
    Cosine,
    CoupledTensor,
    GatherTop,
    KeyValue,
    LocalP,
    Mask,
    Normaliser,
    Pooling,
    RelativePositions,
    Sample,
    ScatterSum,
    Sparsemax,
    TopK,
    attend,
    dot,
    elementwise,
    scaled_dot,
    softmax,
)
from heedful.gallery.layers.memory import Hops, align_both_ways, attention_over_attention
from heedful.inspection.lookup import AGES, KEYS, PEOPLE, QUESTIONS
from heedful.layers.position import sinusoids
from heedful.layers.relative import ALiBi, BucketedBias, RelativeEmbeddings, RotaryPositions


def scores() -> str:
    """The database, asked for an exact name."""
    query = torch.tensor(QUESTIONS["Zhang San"])[None, None, None]
    key, value = torch.tensor(KEYS)[None, None], torch.tensor(AGES)[None, None, :, None]
    ways = {"dot": dot, "scaled dot": scaled_dot, "cosine": Cosine(), "cosine, temperature 0.05": Cosine(0.05)}
    rows = [weights_of(query, key, value, score) for score in ways.values()]
    names = [f"{name} {person:g}" for name, person in zip(PEOPLE, AGES, strict=True)]
    return table(
        torch.cat(rows),
        Axis(list(ways), "score function"),
        Axis(names, "key: person, and age"),
        "whom each score finds",
    )


def masks() -> str:
    """Causal, with a filler at the end."""
    visible = Mask.causal(4, 4, offset=0) & Mask.key_padding(torch.tensor([[True, True, True, False]]))
    x = torch.ones(1, 1, 4, 2)
    labels = ["first", "second", "third", "filler"]
    weights = weights_of(x, x, x, dot, visible)
    return table(weights, Axis(labels, "query"), Axis(labels, "key"), "causal and padding", visible.visible[0, 0])


def normalisers() -> str:
    """One row of scores in five ways."""
    values = torch.tensor([2, 1.5, 1, 0.2, -0.5, -1])
    ways: dict[str, Normaliser] = {
        "softmax": softmax,
        "sparsemax": Sparsemax(),
        "top-2": TopK(2),
        "argmax": Argmax(),
        "local-p around 1.6": LocalP(torch.tensor([[1.6]]), 2),
    }
    rows = torch.cat([way(values[None, None, None], None)[0, 0] for way in ways.values()])
    columns = Axis([f"{value:g}" for value in values.tolist()], "score")
    return table(rows, Axis(list(ways), "normaliser"), columns, "the same scores, normalised")


def aggregates() -> str:
    """Weights of places, and of words."""
    words = ["the", "cat", "saw", "the", "dog"]
    ids = torch.tensor([0, 1, 2, 0, 3])
    weights = softmax(torch.tensor([0.6, 1, 0, 0.6, 0.8])[None, None, None], None)
    by_word = ScatterSum(5)(weights, ids[None, None, :, None])[0, 0]
    labels = [f"{place}: {word}" for place, word in enumerate(words, start=1)]
    padded = torch.cat([weights[0, 0], by_word])
    visible = torch.ones(2, 5, dtype=torch.bool)
    visible[1, 3:] = False
    order = torch.tensor([[0, 1, 2, 3, 4], [0, 1, 2, 4, 3]])  # "dog", word 3, stands under its place
    visible = visible.index_put((torch.tensor([1]), torch.tensor([4])), torch.tensor(True))
    return table(
        padded.gather(1, order),
        Axis(["by place", "by word"], "sum"),
        Axis(labels, "place: word"),
        "summed by word",
        visible,
    )


def restricted() -> str:
    """A window."""
    x = sinusoids(12, 32, "sinusoidal")[None, None].float()
    window = Mask.around(torch.arange(12), 2, 12)
    weights = weights_of(x, x, x, scaled_dot, window)
    return table(weights, Axis(numbers(12), "query"), Axis(numbers(12), "key"), "radius 2", window.visible[0, 0])


def positions() -> str:
    """One query among keys that are all alike: what is left is distance."""
    kinds: dict[str, RelativePositions] = {"alibi, m = 1/4": ALiBi(4), "t5": BucketedBias(4, 8, 6, causal=False)}
    kinds |= {"relative, k = 2": RelativeEmbeddings(8, 2), "rotary": RotaryPositions(8)}
    with torch.no_grad():
        kinds["t5"].get_parameter("weight").copy_(torch.tensor([2, 1.5, 1, 0.5, 0, 0.5, 0, -0.5]))
        kinds["relative, k = 2"].get_parameter("key").copy_(torch.tensor([0, 1.5, 0, 0, -1])[:, None].expand(-1, 8))
    x = torch.ones(1, 4, 13, 8)
    rows = []
    for kind in kinds.values():
        turned = kind.rotate(x, 0)
        rows.append(weights_of(turned, turned, x, scaled_dot, bias=kind.bias(turned, 13))[6:7])
    columns = Axis([f"{distance:+d}" for distance in range(-6, 7)], "distance of the key")
    return table(torch.cat(rows), Axis(list(kinds), "positions"), columns, "how far away")


def bahdanau() -> str:
    """Step t finds the place from which its word comes."""
    score = Additive(8, 8, 8)
    with torch.no_grad():
        score.project_query.weight.copy_(2 * torch.eye(8))
        score.project_key.weight.copy_(2 * torch.eye(8).flip(0))
        score.weight.fill_(-4)  # two halves in one unit add up to less than two units, as tanh bends
    places = torch.eye(8)[None, None]
    steps = Axis([f"step {t}" for t in numbers(8)], "decoder state (query)")
    return table(weights_of(places, places, places, score), steps, Axis(numbers(8), "source word (key)"), "reversal")


def luong() -> str:
    """local-p at ten places."""
    p = torch.linspace(1, 10.5, 10)[None]
    weights = LocalP(p, 3)(torch.zeros(1, 1, 10, 12), None)[0, 0]
    rows = Axis([f"p = {value:.2f}" for value in p[0].tolist()], "predicted centre")
    return table(weights, rows, Axis(numbers(12, 0), "source word (key)"), "local-p, D = 3", weights > 0)


def structured() -> str:
    """Three queries."""
    words = ["the", "food", "was", "great", "but", "slow"]
    features = torch.zeros(6, 3)
    for place, feature in ((1, 0), (3, 1), (5, 2)):
        features[place, feature] = 2.0
    pool = _listening(torch.eye(3) * 4)
    return table(
        pool(features[None]).weights[0],
        Axis(["things", "praise", "blame"], "learnt query"),
        Axis(words, "word (key)"),
        "a row for each query",
    )


def hierarchical() -> str:
    """Words in sentences, then sentences."""
    told = [[0.0, 0.1, 0, 0.2], [0.1, 0, 2.0, 0], [0, 0.5, 0.1, 0]]
    words = torch.tensor(told)[..., None]
    pool = _listening(torch.full((1, 1), 4.0))
    by_word = pool(words)
    by_sentence = pool(by_word.vectors.transpose(0, 1)).weights[0, 0]
    rows = torch.cat([by_word.weights[:, 0], by_sentence[:, None]], dim=1)
    columns = [*(f"word {n}" for n in numbers(4)), "the sentence"]
    return table(
        rows, Axis([f"sentence {n}" for n in numbers(3)], "sentence"), Axis(columns, "key"), "words, then sentences"
    )


def over_attention() -> str:
    """The matrix of the example, along one axis, and the answer."""
    document, question = torch.tensor([[[1.0, 0], [0, 2], [1, 1]]]), torch.eye(2)[None]
    alpha = softmax(dot(question[:, None], document[:, None]), None)[0, 0]

    rows = torch.cat([alpha, attention_over_attention(document, question)])
    return table(
        rows,
        Axis(["alpha of word 1", "alpha of word 2", "s"], "word of the question"),
        Axis(numbers(3), "word of the document"),
        "alpha and s",
    )


def memory() -> str:
    """Three hops."""
    pairs = KeyValue(2 * torch.eye(2)[None, None], torch.tensor([[[[0.0, 3], [3, 0]]]]))
    read = Hops(2, 3, "add")(torch.tensor([[[[1.0, 0]]]]), [pairs])
    rows = torch.cat([hop.weights[0, 0] for hop in read.hops if hop.weights is not None])
    return table(
        rows, Axis([f"hop {n}" for n in numbers(3)], "query"), Axis(["slot 1", "slot 2"], "key"), "hop after hop"
    )


def coupled() -> str:
    """Two untrained heads, coupled and not."""
    torch.manual_seed(SEED)
    words = ["fish", "burger", "is", "the", "best", "dish", "it", "tastes", "fresh"]
    score = CoupledTensor(16, 8)
    states, query = torch.randn(1, 1, len(words), 16).expand(-1, 2, -1, -1), torch.randn(1, 2, 1, 16)
    with torch.no_grad():
        rows = [softmax(score(query, states) * 10, None)[0, :, 0]]
        score.other.zero_()
        rows.append(softmax(score(query, states) * 10, None)[0, :, 0])
    return table(
        torch.cat(rows),
        Axis(["aspects", "opinions", "aspects, D = 0", "opinions, D = 0"], "head"),
        Axis(words, "word (key)"),
        "two heads",
    )


def feature_wise() -> str:
    """A weight for each feature."""
    x, logits = torch.tensor([[[[1.0, 2], [3, 4], [5, 6]]]]), torch.tensor([[0.0, 1], [1, 0], [2, -1]])
    read = attend(x[:, :, :1], x, x, score=lambda q, k: logits.T[None, :, None], aggregate=elementwise)
    assert read.weights is not None
    return table(
        read.weights[0, :, 0],
        Axis(["feature 1", "feature 2"], "feature"),
        Axis(["word 1", "word 2", "word 3"], "word (key)"),
        "by feature",
    )


def both_ways() -> str:
    """How a reads b."""
    b = torch.tensor([[[[1.0, 0], [1, 1], [0, 2]]]])
    weights = align_both_ways(torch.eye(2)[None, None], b).left.weights
    assert weights is not None
    return table(
        weights[0, 0],
        Axis(["a 1", "a 2"], "a: query"),
        Axis(["b 1", "b 2", "b 3"], "b: key"),
        "how a attends to b",
    )


def keywords() -> str:
    """What is left of the weights."""
    words = ["a", "film", "so", "dull", "that", "i", "left", "early"]
    weights = softmax(torch.tensor([0, 0.8, 0.5, 2.2, 0, 0.2, 1.5, 1.0])[None, None, None], None)
    kept = GatherTop(3)(weights, torch.eye(8)[None, None]).view(3, 8).sum(0, keepdim=True)
    return table(
        torch.cat([weights[0, 0], kept]),
        Axis(["all", "the 3 heaviest"], "kept"),
        Axis(words, "word (key)"),
        "the heaviest words",
    )


def hard() -> str:
    """A softmax and eight draws."""
    values = torch.tensor([1.0, 0.2, 1.5, -0.5, 0.0, 0.6])[None, None, None]
    drawn = Sample(torch.Generator().manual_seed(SEED))(values.expand(1, 1, 8, 6), None)[0, 0]
    rows = torch.cat([softmax(values, None)[0, 0], drawn])
    return table(
        rows, Axis(["softmax", *(f"draw {n}" for n in numbers(8))], "normaliser"), Axis(numbers(6), "key"), "draws"
    )


def top_k() -> str:
    """k from 1 to 4."""
    w = torch.tensor([0.5, 0.3, 0.15, 0.05])
    rows = torch.cat([TopK(k)(w.log()[None, None, None], None)[0, 0] for k in range(1, 5)])
    return table(
        rows,
        Axis([f"k = {n}" for n in numbers(4)], "k"),
        Axis([f"{value:.2g}" for value in w.tolist()], "softmax"),
        "top-k",
    )


def _listening(queries: Tensor) -> Pooling:
    """A pooling with these constant queries and no transformation before them."""
    pool = Pooling(queries.shape[1], queries.shape[1], len(queries), bias=False)
    with torch.no_grad():
        pool.inner.weight.copy_(torch.eye(queries.shape[1]))
        pool.queries.copy_(queries)
    return pool


PICTURES: dict[str, Callable[[], str]] = {
    "scores": scores,
    "masks": masks,
    "normalisers": normalisers,
    "aggregates": aggregates,
    "multi-head": draw_models.multi_head,
    "restricted": restricted,
    "positions": positions,
    "rnn": draw_models.rnn,
    "bahdanau": bahdanau,
    "luong": luong,
    "convs2s": draw_models.convs2s,
    "ctc": draw_models.ctc,
    "tagging": draw_models.tagging,
    "structured": structured,
    "hierarchical": hierarchical,
    "attention-over-attention": over_attention,
    "memory": memory,
    "coupled": coupled,
    "feature-wise": feature_wise,
    "both-ways": both_ways,
    "keywords": keywords,
    "hard": hard,
    "top-k": top_k,
    "gates": draw_models.gates,
    "scheduled-sampling": draw_models.scheduled_sampling,
    "architectures": draw_models.architectures,
}
