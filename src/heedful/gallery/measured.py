"""What members of the attention family came to on their tasks: numbers of experiments, kept with the program.

Knows no run: docs/attention/make.py writes the file from experiments/family/table.json.
"""

import json
from importlib.resources import files
from typing import NamedTuple


class Arm(NamedTuple):
    """A system or what it is measured against."""

    name: str
    score: str  # mean and standard deviation over seeds, and how many there were
    without: str  # the mean without items whose source also stands in the training data
    parameters: int
    minutes: float  # of training, on average
    evidence: dict[str, float]


class MeasuredSystem(NamedTuple):
    """A system on its task: its arms, and which of them is better than which other one."""

    page: str
    name: str
    task: str
    licence: str
    recipe: str  # its name, for `heedful init --recipe`
    metric: str
    split: str  # which the scores are of
    overlap: str  # how many of its items stand in the training data, too, as measured
    arms: list[Arm]
    verdicts: list[str]


def results(page: str) -> list[MeasuredSystem]:
    """Return the results of a page; none where nothing was measured yet."""
    kept = json.loads(files("heedful.gallery").joinpath("assets", "family.json").read_text("utf-8"))
    read = [MeasuredSystem(**{**entry, "arms": [Arm(**arm) for arm in entry["arms"]]}) for entry in kept]
    return [result for result in read if result.page == page]
