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
    parameters: int
    minutes: float  # of training, on average
    evidence: dict[str, float]


class MeasuredSystem(NamedTuple):
    """A system on its task, its first arm against the second."""

    page: str
    name: str
    task: str
    licence: str
    split_unit: str  # what never lies in two splits
    recipe: str  # its name, for `heedful init --recipe`
    metric: str
    arms: list[Arm]
    verdict: str


def results(page: str) -> list[MeasuredSystem]:
    """Return the results of a page; none where nothing was measured yet."""
    kept = json.loads(files("heedful.gallery").joinpath("assets", "family.json").read_text("utf-8"))
    read = [MeasuredSystem(**{**entry, "arms": [Arm(**arm) for arm in entry["arms"]]}) for entry in kept]
    return [result for result in read if result.page == page]
