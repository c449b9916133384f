"""What a run's log says of its scores: whether they are of the model that was trained last, and how often a split was
scored.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SCORED = ("finished", "evaluated")  # events that hold the scores of a split


def unscored(log: Sequence[Mapping[str, Any]]) -> str | None:
    """Say how far training went on after the model was scored; None where the scores are of its last update."""
    ends = [place for place, line in enumerate(log) if line["event"] == "finished"]
    if not ends:
        return None
    scored, trained = (_last_update(lines) for lines in (log[: ends[-1]], log[ends[-1] :]))
    if trained <= scored:
        return None
    return f"incomplete: trained to update {trained:,}, but scored at {scored:,}"


def _last_update(lines: Iterable[Mapping[str, Any]]) -> int:
    return max((line["update"] for line in lines if isinstance(line.get("update"), int)), default=0)


def times_scored(log: Iterable[Mapping[str, Any]], split: str) -> int:
    """Count how often a model of the run was scored on a split, at the end of training and afterwards."""
    return sum(line["event"] in SCORED and line.get("split") == split for line in log)
