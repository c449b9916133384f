"""What the runs of the attention family come to: means, spreads, verdicts, as JSON and as Markdown. Trains nothing."""

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from heedful.evaluation.metrics import label_of, metrics_for

SEEDS = 3  # fewer resolve nothing
WIDTH = 2.0  # pooled standard deviations that a difference must exceed


class Sample(NamedTuple):
    """One number, measured with several seeds."""

    values: list[float]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float:
        """Of the seeds; 0 for a single one."""
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


def pooled(one: Sample, other: Sample) -> float:
    """The pooled standard deviation of two samples."""
    freedom = len(one.values) + len(other.values) - 2
    if freedom <= 0:
        return float("inf")
    squares = sum((len(s.values) - 1) * s.deviation**2 for s in (one, other))
    return (squares / freedom) ** 0.5


def verdict(system: Sample, baseline: Sample, *, higher_is_better: bool, minimum: float, not_worse: bool) -> str:
    """ "yes", "no" or "not resolved": whether the system is better by more than two pooled standard deviations and by
    more than `minimum`; with `not_worse`, whether it is not worse by that much.
    """
    if min(len(system.values), len(baseline.values)) < SEEDS:
        return "fewer than three seeds"
    gain = (system.mean - baseline.mean) * (1 if higher_is_better else -1)
    needed = max(WIDTH * pooled(system, baseline), minimum)
    if not_worse:
        return "yes (not worse)" if gain >= -needed else "no"
    return "yes" if gain > needed else "no" if gain < -needed else "not resolved"


def summarise(
    plan: dict[str, dict[str, Any]], rows: list[dict[str, Any]], refused: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """One entry a system: each arm's numbers, and the verdict on the first arm against the second."""
    entries: list[dict[str, Any]] = []
    for key, system in plan.items():
        arms: dict[str, dict[str, Any]] = {}
        for arm in system["arms"]:
            runs = [row for row in rows if row["system"] == key and row["arm"] == arm]
            if runs:
                arms[arm] = _arm(runs, system["metric"])
        if not arms:
            continue
        names = list(system["arms"])
        entry: dict[str, Any] = {
            **{
                name: system[name]
                for name in ("key", "page", "number", "name", "task", "metric", "licence", "split_unit")
            },
            "recipe": system["recipe"],
            "arms": arms,
            "refused": {row["arm"]: row["refused"] for row in refused if row["system"] == key},
            "verdict": "not measured yet",
        }
        (metric,) = metrics_for([system["metric"]])
        if len(names) > 1 and names[0] in arms and names[1] in arms:
            entry["verdict"] = verdict(
                Sample(arms[names[0]]["values"]),
                Sample(arms[names[1]]["values"]),
                higher_is_better=metric.higher_is_better,
                minimum=system.get("minimum", 0.0),
                not_worse=system.get("not_worse", False),
            )
        entries.append(entry)
    return entries


def _arm(runs: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    scores = [next(score for score in row["scores"] if score["metric"] == metric) for row in runs]
    evidence = {
        name: statistics.fmean(row["evidence"][name] for row in runs if name in row["evidence"])
        for name in dict.fromkeys(name for row in runs for name in row["evidence"])
    }
    return {
        "values": [score["value"] for score in scores],
        "n": scores[0]["n"],
        "split": scores[0]["split"],
        "seeds": [row["seed"] for row in runs],
        "parameters": runs[0]["parameters"],
        "updates": runs[0]["updates"],
        "minutes": statistics.fmean(row["minutes"] for row in runs),
        "evidence": evidence,
    }


def write_table(
    plan: dict[str, dict[str, Any]], rows: list[dict[str, Any]], refused: list[dict[str, Any]], folder: Path
) -> None:
    """table.json and table.md."""
    entries = summarise(plan, rows, refused)
    (folder / "table.json").write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "table.md").write_text("\n".join(markdown(entries)) + "\n", encoding="utf-8")


def markdown(entries: list[dict[str, Any]]) -> list[str]:
    """A line an arm; the verdict stands on the first one of each system."""
    lines = [
        "| system | task | arm | metric | mean ± deviation (seeds) | parameters | minutes | evidence | better? |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for entry in entries:
        for number, (name, arm) in enumerate(entry["arms"].items()):
            first = number == 0
            shown = "; ".join(f"{what} {value:.2f}" for what, value in arm["evidence"].items())
            cells = [
                f"{entry['number']} {entry['name']}" if first else "",
                entry["task"] if first else "",
                name,
                label_of(entry["metric"]),
                f"{Sample(arm['values'])} ({len(arm['values'])})",
                f"{arm['parameters']:,}",
                f"{arm['minutes']:.1f}",
                shown,
                entry["verdict"] if first else "",
            ]
            lines.append("| " + " | ".join(cells) + " |")
        for name, message in entry["refused"].items():
            lines.append(f"| | | {name} | | refused: {message} | | | | |")
    return lines
