"""Whether attention over documents and pairs lies where the answer is known to be, and whether two heads read alike.

Knows no task and no file: whoever calls says what is true. Values are in per cent.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from heedful.decoding.translator import Translator
from heedful.trace import Trace

Links = Sequence[tuple[int, int]]


def decisive_sentence_hits(translator: Translator, documents: Sequence[tuple[str, int]]) -> dict[str, float]:
    """Measure how often the most read sentence of a document is its decisive one, whose number from 0 stands beside it.

    "hit@1", and what it is by "chance". Where a model weighs no sentences, one is read as much as its words are.
    Raises ValueError where there are no documents.
    """
    _require("documents", documents)
    hits = chance = 0.0
    for source, decisive in documents:
        weights = _of_sentences(translator.trace(source))
        hits += int(weights.argmax()) == decisive
        chance += 1 / len(weights)
    return {"hit@1": 100 * hits / len(documents), "chance": 100 * chance / len(documents)}


def aligned_words(translator: Translator, pairs: Sequence[tuple[str, Links]]) -> dict[str, float]:
    """Measure how often a word reads that word of the other part most which it is linked to: the "accuracy" of the
    alignment.

    Links are (word read, word that reads), as positions in the source; a separator counts as a word. Raises ValueError
    where there are none.
    """
    _require("pairs", pairs)
    right = count = 0
    for source, links in pairs:
        weights = translator.trace(source).map("encoder.0.self").weights[0]
        right += sum(int(weights[reading].argmax()) == read for read, reading in links)
        count += len(links)
    return {"accuracy": 100 * right / count}


def overlap_of_heads(translator: Translator, sources: Sequence[str]) -> dict[str, float]:
    """Compute the mean cosine between the weights of two heads over the words, in all layers: 100 if they read alike.

    Raises ValueError where there are no sources, or where a model has no two heads that read them.
    """
    _require("sources", sources)
    cosines: list[Tensor] = []
    for source in sources:
        maps = [found for found in translator.trace(source).maps if found.kind == "reader.read"]
        if not maps or maps[0].n_heads != 2:
            raise ValueError("This model has no two heads that read its sources.")
        heads = torch.stack([found.weights[:, 0] for found in maps])  # [N 2 S]
        cosines.append(nn.functional.cosine_similarity(heads[:, 0], heads[:, 1], dim=-1).mean())
    return {"overlap": 100 * float(torch.stack(cosines).mean())}


def _of_sentences(trace: Trace) -> Tensor:
    """Return the weight of each sentence: that at its end, or the sum of its words' weights."""
    end = trace.source[-1]
    ends = [position for position, piece in enumerate(trace.source) if piece == end]
    weighed = [found for found in trace.maps if found.name == "reader.1.read"]
    if weighed:
        return weighed[0].weights[0, 0, ends]
    sums = trace.map("reader.0.read").weights[0, 0].cumsum(0)[ends]
    return sums.diff(prepend=sums.new_zeros(1))


def _require(name: str, given: Sequence[object]) -> None:
    if not given:
        raise ValueError(f"`{name}` must not be empty.")
