"""Paired tests between runs, from the outputs that they stored: no model is run again.

A stored score that its stored outputs do not give is an error, never a number in a table.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heedful.errors import CheckFailed
from heedful.evaluation.evaluate import item_statistics
from heedful.evaluation.metric import Metric
from heedful.evaluation.metrics import metric_names, metrics_for
from heedful.evaluation.significance import Comparison, Matrix, paired_bootstrap, paired_randomisation
from heedful.records.compare import align_results, signature_of
from heedful.records.manifest import data_hash
from heedful.records.outputs import Output
from heedful.records.results import Result
from heedful.records.run import Run

AGREEMENT = 1e-6  # per cent: a stored and a recounted value may differ by the rounding of sums


class Paired(NamedTuple):
    """One run against the baseline by one metric, all in per cent.

    `comparison` is run minus baseline with the bootstrap's interval and p; `p_randomisation` is the p of approximate
    randomisation. `wins`, `losses` and `ties` count items on which the run is better, worse or the same.
    """

    metric: str
    higher_is_better: bool
    baseline: Result
    run: Result
    comparison: Comparison
    p_randomisation: float
    wins: int
    losses: int
    ties: int


def compare(runs: Sequence[Run | Path | str], split: str = "test", samples: int = 1000, seed: int = 1) -> list[Paired]:
    """Compare runs with the first one by paired bootstrap and approximate randomisation, from their stored outputs.

    One row for each later run and metric. Raises what `compare_runs` does.
    """
    return compare_runs([run if isinstance(run, Run) else Run.open(run) for run in runs], split, samples, seed)


def compare_runs(runs: Sequence[Run], split: str, samples: int, seed: int) -> list[Paired]:
    """Compare each later run with the first, by every metric that all have and that can be counted from outputs.

    Raises ValueError for fewer than two runs; ConfigError where results or outputs are missing; CheckFailed where runs
    are not comparable, or a stored score does not follow from the stored outputs.
    """
    if len(runs) < 2:
        raise ValueError(f"`runs` must hold at least 2 runs, but holds {len(runs)}.")
    aligned = [metric for metric in align_results(runs, split) if metric.metric in metric_names()]
    outputs = [run.read_outputs(split) for run in runs]
    found = []
    for name, rows in aligned:
        metric = metrics_for([name])[0]
        counted = [_checked(metric, run, row, items) for run, row, items in zip(runs, rows, outputs, strict=True)]
        found += [
            _paired(metric, rows[0], row, counted[0], statistics, samples, seed)
            for row, statistics in zip(rows[1:], counted[1:], strict=True)
        ]
    return found


def _checked(metric: Metric, run: Run, row: Result, outputs: Sequence[Output]) -> Matrix:
    """Compute the statistics of a run's stored outputs, and check that they give its stored score."""
    hint = f"`heedful evaluate {run.folder} --split {row.split}` makes both anew."
    if data_hash([o.source for o in outputs], [o.references for o in outputs]) != signature_of(row).data:
        raise CheckFailed(
            f"The stored outputs of {run.folder} on {row.split} are not of the data of its results.", hint=hint
        )
    statistics = item_statistics(metric, outputs)
    value = metric.value(statistics.sum(axis=0).tolist())
    if abs(value - row.value) > AGREEMENT:
        raise CheckFailed(
            f"The {row.metric} of {run.folder} on {row.split} is {row.value:.4f} in results.csv, "
            f"but {value:.4f} by the stored outputs.",
            hint=hint,
        )
    return statistics


def _paired(
    metric: Metric, baseline: Result, run: Result, stats_a: Matrix, stats_b: Matrix, samples: int, seed: int
) -> Paired:
    gains = [
        (metric.value(b) - metric.value(a)) * (1 if metric.higher_is_better else -1)
        for a, b in zip(stats_a.tolist(), stats_b.tolist(), strict=True)
    ]
    wins, losses = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return Paired(
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        baseline=baseline,
        run=run,
        comparison=paired_bootstrap(metric, stats_a, stats_b, samples, seed),
        p_randomisation=paired_randomisation(metric, stats_a, stats_b, samples, seed),
        wins=wins,
        losses=losses,
        ties=len(gains) - wins - losses,
    )
