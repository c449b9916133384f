"""Whether test items also stand in the training data, and the score of a run without them: measured, not supposed."""

from collections.abc import Container, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from heedful.data.config import DataConfig
from heedful.data.survey import found_in, survey
from heedful.evaluation.metrics import metrics_for
from heedful.evaluation.score import measure
from heedful.recipe.recipe import stored_recipe
from heedful.recipe.splits import load_split
from heedful.records.outputs import Output
from heedful.records.run import Run


def overlap_of(folder: Path, metric: str) -> dict[str, Any]:
    """How many items of the split that judged the finished run in `folder` have their source in train, how many their
    source with their target, and the run's score by `metric` without any of them.

    Texts are equal if they differ in case, Unicode form and white space only.
    """
    run = Run.open(folder)
    split = next(row.split for row in run.read_results() if row.signature)
    sources, pairs, n = repeated(stored_recipe(folder).data, split)
    items = run.read_outputs(split)
    if len(items) != n:
        raise ValueError(f"{folder} has {len(items)} outputs for the {n} items of {split}.")
    return {"n": n, "sources": len(sources), "pairs": pairs, "without": score_without(items, sources, metric)}


def score_without(items: Sequence[Output], left_out: Container[int], metric: str) -> float:
    """The score of all items but those with these numbers."""
    (judge,) = metrics_for([metric])
    kept = [item for number, item in enumerate(items) if number not in left_out]
    sums = measure(judge, [item.output for item in kept], [item.references for item in kept]).sum(axis=0)
    return judge.value(sums.tolist())


@cache
def repeated(data: DataConfig, split: str) -> tuple[frozenset[int], int, int]:
    """The numbers of a split's items whose source stands in train, how many of the items stand there whole, and how
    many items there are.
    """
    train, held_out = survey("train", load_split(data, "train")), survey(split, load_split(data, split))
    sources = found_in(held_out.source.hashes, train.source.hashes)
    whole = np.isin(held_out.hashes, train.hashes)
    return frozenset(sources.tolist()), int(whole.sum()), held_out.pairs
