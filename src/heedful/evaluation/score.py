"""Scores of outputs against references: value, interval, count and signature together.

Does not know where outputs come from.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heedful.evaluation.metric import Item, Metric
from heedful.evaluation.metrics import metrics_for
from heedful.evaluation.significance import Matrix, bootstrap_interval
from heedful.text.normalise import COMPARED_FORM, in_compared_form


class Score(NamedTuple):
    """One metric over n items, in per cent, with its 95 % bootstrap interval and full metric signature."""

    metric: str
    value: float
    low: float
    high: float
    n: int
    signature: str


def measure(
    metric: Metric,
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None = None,
) -> Matrix:
    """Compute the statistics of each item, [n items, k statistics], all texts in one Unicode form.

    Raises ValueError where outputs, references and sources do not match, an item has no reference, or the metric reads
    sources and there are none.
    """
    if len(outputs) != len(references):
        raise ValueError(
            f"`references` must have an entry for each of the {len(outputs)} outputs, but has {len(references)}."
        )
    if not outputs:
        raise ValueError("`outputs` must hold at least one line, but is empty.")
    bare = next((i for i, targets in enumerate(references) if not targets), None)
    if bare is not None:
        raise ValueError(f"`references` must hold at least one reference for each output, but item {bare} has none.")
    if sources is None and metric.reads_sources:
        raise ValueError(f"`sources` must be given, because {metric.name} reads them.")
    items = [
        Item(in_compared_form(source), in_compared_form(output), [in_compared_form(one) for one in targets])
        for source, output, targets in zip(_sources(sources, len(outputs)), outputs, references, strict=True)
    ]
    return np.array(metric.measure(items), dtype=np.float64)


def _sources(sources: Sequence[str] | None, count: int) -> Sequence[str]:
    """Return the sources, or as many empty ones for metrics that do not read them."""
    if sources is not None and len(sources) != count:
        raise ValueError(f"`sources` must have an entry for each of the {count} outputs, but has {len(sources)}.")
    return [""] * count if sources is None else sources


def score(metric: Metric, statistics: Matrix, references: Sequence[Sequence[str]], samples: int, seed: int) -> Score:
    """Compute the score that these statistics of items add up to. `references` only count for the signature."""
    low, high = bootstrap_interval(metric, statistics, samples, seed)
    return Score(
        metric=metric.name,
        value=metric.value(statistics.sum(axis=0).tolist()),
        low=low,
        high=high,
        n=len(statistics),
        signature=f"nrefs:{reference_count(references)}|form:{COMPARED_FORM}|{metric.signature}",
    )


def score_outputs(
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[Metric | str],
    samples: int = 1000,
    seed: int = 1,
    *,
    sources: Sequence[str] | None = None,
) -> list[Score]:
    """Score outputs, of any system, by each metric: one of one's own, or the name of one, such as "bleu" or "wer".

    `references[i]` holds every right target of output i; intervals come from `samples` resamples of the bootstrap.
    Some metrics of one's own read `sources`, too.
    Raises ValueError where outputs and references do not match, and ConfigError for an unknown name.
    """
    chosen = [metrics_for([metric])[0] if isinstance(metric, str) else metric for metric in metrics]
    return [
        score(metric, measure(metric, outputs, references, sources), references, samples, seed) for metric in chosen
    ]


def reference_count(references: Sequence[Sequence[str]]) -> str:
    """Return the number of references of every item, or "var" where it differs, as in sacrebleu's signatures."""
    counts = {len(targets) for targets in references}
    return str(counts.pop()) if len(counts) == 1 else "var"
