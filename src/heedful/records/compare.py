"""Runs side by side: what was measured last, whether two numbers may be compared, and where two runs differ.

Reads records only. Tests of significance need the stored outputs and stand in `heedful.evaluation.pairing`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heedful.config import Difference, flatten
from heedful.errors import CheckFailed, ConfigError, HeedfulError
from heedful.records.results import Result
from heedful.records.run import Run, is_run
from heedful.records.signature import Signature, comparable, parse_signature


class Summary(NamedTuple):
    """A run in one line of a table.

    `update` and `minutes` are of training so far; `results` are the last of each metric on `split`, which is test where
    that was measured, else dev, and None where nothing was.
    """

    run: str
    folder: str
    state: str
    update: int
    minutes: float
    split: str | None
    results: list[Result]


class Aligned(NamedTuple):
    """One metric over several runs, in their order: rows that may be compared."""

    metric: str
    rows: list[Result]


def find_runs(folder: Path) -> list[Run]:
    """List the run directories at or under a folder, by path. A run's own folders are not searched."""
    if not folder.is_dir():
        raise ConfigError(
            f"There is no folder {folder}.", hint="Runs are kept under runs/ unless the recipe says otherwise."
        )
    if is_run(folder):
        return [Run.open(folder)]
    visible = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [run for path in visible for run in find_runs(path)]


def summarise(run: Run) -> Summary:
    """Summarise a run for a table of runs; of a damaged one, say what is wrong with it."""
    try:
        return _summary(run)
    except HeedfulError as damage:
        return Summary(run.name, str(run.folder), f"damaged: {damage.message}", 0, 0.0, None, [])


def _summary(run: Run) -> Summary:
    timed = [line for line in run.read_log() if "update" in line and "seconds" in line]
    split, results = next(
        ((split, found) for split in ("test", "dev") if (found := last_results(run, split))), (None, [])
    )
    return Summary(
        run=run.name,
        folder=str(run.folder),
        state=run.state(),
        update=timed[-1]["update"] if timed else 0,
        minutes=round(timed[-1]["seconds"] / 60, 1) if timed else 0.0,
        split=split,
        results=results,
    )


def last_results(run: Run, split: str) -> list[Result]:
    """Return the newest row of each metric of a split, in the order of the metrics' first rows.

    Only evaluations count, which carry a signature; not the validations on some dev sentences during training.
    """
    return list({row.metric: row for row in run.read_results() if row.split == split and row.signature}.values())


def newest_scores(run: Run) -> dict[str, float]:
    """Return the newest value of each split and metric, under the name "SPLIT METRIC"."""
    return {f"{row.split} {row.metric}": row.value for row in run.read_results() if row.signature}


def align_results(runs: Sequence[Run], split: str) -> list[Aligned]:
    """Align the last results of the metrics that all runs have, and check that they are comparable with the first
    run's.

    Raises ConfigError for a run without results of the split; CheckFailed, with the reason, where data, split or
    counting differ, or no metric is common to all.
    """
    tables = [{row.metric: row for row in last_results(run, split)} for run in runs]
    for run, table in zip(runs, tables, strict=True):
        if not table:
            raise ConfigError(
                f'The run {run.folder} has no results on the split "{split}".',
                hint=f"`heedful evaluate {run.folder} --split {split}` makes them.",
            )
    common = [metric for metric in tables[0] if all(metric in table for table in tables)]
    if not common:
        raise CheckFailed(
            f"The runs have no metric in common on {split}.", hint="Evaluate them with the same `evaluation.metrics`."
        )
    aligned = [Aligned(metric, [table[metric] for table in tables]) for metric in common]
    for metric in aligned:
        _check_comparable(runs, metric)
    return aligned


def _check_comparable(runs: Sequence[Run], metric: Aligned) -> None:
    signatures = [signature_of(row) for row in metric.rows]
    for run, signature in zip(runs[1:], signatures[1:], strict=True):
        reason = comparable(signatures[0], signature)
        if reason is not None:
            raise CheckFailed(
                f"{runs[0].folder} and {run.folder} cannot be compared: {reason}.",
                hint="Evaluate both on the same files, with the same `evaluation` settings.",
            )


def signature_of(row: Result) -> Signature:
    """Parse the signature of a row. Raises HeedfulError where it has none that can be read."""
    try:
        return parse_signature(row.signature)
    except ValueError:
        raise HeedfulError(
            f"The {row.metric} of run {row.run} on {row.split} carries no signature that can be read.",
            hint="Evaluate it again.",
        ) from None


def config_differences(left: Run, right: Run) -> list[Difference]:
    """List the configuration keys in which two runs differ; the path of a run is no difference."""
    a, b = flatten(left.config()), flatten(right.config())
    return [
        Difference(key, a.get(key), b.get(key))
        for key in dict.fromkeys([*a, *b])
        if key != "run" and a.get(key) != b.get(key)
    ]


def environment_differences(left: Run, right: Run) -> list[Difference]:
    """List the facts of environment.json in which two runs differ, but for when, where and by which
    command they began.
    """
    a, b = flatten(left.environment()), flatten(right.environment())
    own = ("time", "command", "begun_in")
    return [
        Difference(key, a.get(key), b.get(key))
        for key in dict.fromkeys([*a, *b])
        if key not in own and a.get(key) != b.get(key)
    ]
