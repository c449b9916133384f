"""How far a run has come: what a checkpoint says of it, read back only if it can be true."""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from heedful.errors import HeedfulError
from heedful.records.checksums import check_files
from heedful.text.atomic_files import write_text

FILE = "progress.json"
WAY_OUT = "Put the checkpoint back from a copy, or make a model of the others: heedful average RUN --last N."


@dataclass(frozen=True)
class LogWindow:
    """Statistics since the last log line: sums in nats over `count` tokens, of norms over updates, and of the decoder's
    input tokens, how many scheduled sampling replaced, and how many became others.
    """

    smoothed: float = 0.0
    nll: float = 0.0
    count: int = 0
    norm: float = 0.0
    updates: int = 0
    seconds: float = 0.0
    inputs: int = 0
    replaced: int = 0
    changed: int = 0


@dataclass(frozen=True)
class TrainingProgress:
    """Progress of a training. Data position and randomness follow from `update`, so nothing else is kept."""

    update: int = 0
    seconds: float = 0.0  # of training, over all resumptions
    best_update: int = 0
    best_score: float = float("-inf")  # higher is better
    without_better: int = 0  # validations since the best one
    validated: bool = False  # written at a validation, so it may be averaged
    window: LogWindow = LogWindow()  # what the next log line begins with


KindT = TypeVar("KindT", TrainingProgress, LogWindow)


def write_progress(folder: Path, progress: TrainingProgress) -> None:
    """Write the progress.json of a checkpoint."""
    write_text(folder / FILE, json.dumps(asdict(progress), indent=1) + "\n")


def read_progress(folder: Path) -> TrainingProgress:
    """Read the progress.json of a checkpoint.

    Raises HeedfulError where it is missing or damaged, or says what cannot be.
    """
    path = folder / FILE
    check_files(folder, [FILE], WAY_OUT)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        facts["window"] = _made(LogWindow, facts.get("window", {}))
        progress = _made(TrainingProgress, facts)
    except (OSError, TypeError, ValueError, AttributeError, RecursionError):
        raise HeedfulError(f"{path} is missing or damaged.", hint=WAY_OUT) from None
    if folder.name != name_of(progress.update) or progress.best_update > progress.update:
        what = f"says update {progress.update:,}, and that the best was {progress.best_update:,}"
        raise HeedfulError(f"{path} {what}, which cannot be.", hint=WAY_OUT)
    return progress


def name_of(update: int) -> str:
    """Return the name of the checkpoint that was written after an update."""
    return f"update-{update:08d}"


def _made(kind: type[KindT], facts: dict[str, Any]) -> KindT:
    """Make a record of these values. Raises ValueError for a value of another type or out of range, TypeError for an
    unknown key.
    """
    for field in fields(kind):
        value = facts.get(field.name, field.default)
        if field.type is int and (type(value) is not int or value < 0):
            raise ValueError(field.name)
        if field.type is bool and type(value) is not bool:
            raise ValueError(field.name)
        if field.type is float:
            unset = field.name == "best_score" and value == -math.inf
            if type(value) not in (int, float) or not (unset or math.isfinite(value)):
                raise ValueError(field.name)
    return kind(**facts)
