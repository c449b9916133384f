"""Whether models of stories read the sentences that the answer rests on, and how many keys a query reads.

Knows no task and no file: whoever calls says what is true. Values are in per cent where nothing else is said.
"""

from collections.abc import Sequence

from torch import Tensor

from heedful.decoding.translator import Translator
from heedful.trace import Trace


def supporting_fact_hits(translator: Translator, stories: Sequence[tuple[str, Sequence[int]]]) -> dict[str, float]:
    """Measure how often the most read sentence of a story is one that supports the answer; their numbers, from 0, stand
    beside.

    "hop 1 hit@1" and so on, for each reading; "facts found": the share of supporting sentences that any of the readings
    has on top; "chance": that of one sentence at random. Raises ValueError where there are no stories, or the model
    reads nothing.
    """
    _require(stories)
    hits: list[int] = []
    found = wanted = 0
    chance = 0.0
    for source, facts in stories:
        trace = translator.trace(source)
        top = [_most_read(trace, found.weights[0, 0]) for found in trace.maps if found.kind == "reader.read"]
        if not top:
            raise ValueError("This model reads no sentences: it has no map `reader.0.read`.")
        hits = [before + (number in facts) for before, number in zip(hits or [0] * len(top), top, strict=True)]
        found += len(set(facts) & set(top))
        wanted += len(set(facts))
        chance += len(set(facts)) / max(1, trace.source.count(trace.source[-1]) - 1)
    of_hops = {f"hop {hop} hit@1": 100 * count / len(stories) for hop, count in enumerate(hits, start=1)}
    return {**of_hops, "facts found": 100 * found / max(1, wanted), "chance": 100 * chance / len(stories)}


def keys_read(translator: Translator, sources: Sequence[str]) -> dict[str, float]:
    """Count the keys with a weight that is not 0, in each row of each head of all maps.

    "most", and "least" among the rows that may see as many: both are k for the exact top k. Raises ValueError where
    there are no sources.
    """
    _require(sources)
    rows: list[tuple[int, int]] = []  # read, visible
    for source in sources:
        for found in translator.trace(source).maps:
            visible = found.mask.expand_as(found.weights).sum(dim=-1).flatten().tolist()
            rows += zip((found.weights > 0).sum(dim=-1).flatten().tolist(), visible, strict=True)
    most = max(read for read, _ in rows)
    return {"least": float(min(read for read, visible in rows if visible >= most)), "most": float(most)}


def _most_read(trace: Trace, weights: Tensor) -> int:
    """Return the sentence, from 0, in which the most read position stands."""
    end = trace.source[-1]
    return trace.source[: int(weights.argmax())].count(end)


def _require(given: Sequence[object]) -> None:
    if not given:
        raise ValueError("There is nothing to look at: name at least one source.")
