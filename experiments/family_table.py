"""What the runs of the attention family come to: means, spreads, overlaps, verdicts, as JSON and as Markdown. Trains
nothing.
"""

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from family_verdicts import Comparison, Rule, compared, how_judged, judged

from heedful.evaluation.metrics import label_of, metrics_for

FACTS = ("key", "page", "number", "name", "task", "metric", "licence", "recipe")


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


def comparisons_of(system: dict[str, Any]) -> list[tuple[str, str]]:
    """The pairs of arms that are compared: those that the plan names, or else the first arm and the second."""
    if "compare" in system:
        return [(of, against) for of, against in system["compare"]]
    arms = list(system["arms"])
    return [(arms[0], arms[1])] if len(arms) > 1 else []


def summarise(
    plan: dict[str, dict[str, Any]], rows: list[dict[str, Any]], refused: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """One entry a system: each arm's numbers, and the verdicts on the pairs of arms that are compared."""
    entries: list[dict[str, Any]] = []
    made: list[tuple[dict[str, Any], Comparison, Rule]] = []
    for key, system in plan.items():
        arms: dict[str, dict[str, Any]] = {}
        for arm in system["arms"]:
            runs = [row for row in rows if row["system"] == key and row["arm"] == arm]
            if runs:
                arms[arm] = _arm(runs, system["metric"])
        if not arms:
            continue
        said = {row["arm"]: row["refused"] for row in refused if row["system"] == key}
        entry = {**{name: system[name] for name in FACTS}, "arms": arms, "refused": said, "comparisons": []}
        entries.append(entry)
        rule = _rule(system)
        for of, against in comparisons_of(system):
            if of in arms and against in arms:
                made.append((entry, compared((of, against), (arms[of]["values"], arms[against]["values"]), rule), rule))
    for (entry, _, _), one in zip(made, judged([one for _, one, _ in made], [rule for *_, rule in made]), strict=True):
        entry["comparisons"].append(one._asdict())
    return entries


def _rule(system: dict[str, Any]) -> Rule:
    (metric,) = metrics_for([system["metric"]])
    return Rule(metric.higher_is_better, system.get("minimum", 0.0), system.get("not_worse", False))


def _arm(runs: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    scores = [next(score for score in row["scores"] if score["metric"] == metric) for row in runs]
    (split,) = {score["split"] for score in scores}
    evidence = {
        name: statistics.fmean(row["evidence"][name] for row in runs if name in row["evidence"])
        for name in dict.fromkeys(name for row in runs for name in row["evidence"])
    }
    return {
        "values": [score["value"] for score in scores],
        "n": scores[0]["n"],
        "split": split,
        "overlap": _overlap(runs),
        "seeds": [row["seed"] for row in runs],
        "parameters": runs[0]["parameters"],
        "updates": runs[0]["updates"],
        "minutes": statistics.fmean(row["minutes"] for row in runs),
        "evidence": evidence,
    }


def _overlap(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """How many test items stand in train, and the mean score without them; None for runs that measured none."""
    if any("overlap" not in row for row in runs):
        return None
    first = runs[0]["overlap"]
    return {
        **{name: first[name] for name in ("n", "sources", "pairs")},
        "without": statistics.fmean(row["overlap"]["without"] for row in runs),
    }


def write_table(
    plan: dict[str, dict[str, Any]], rows: list[dict[str, Any]], refused: list[dict[str, Any]], folder: Path
) -> None:
    """table.json and table.md."""
    entries = summarise(plan, rows, refused)
    (folder / "table.json").write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "table.md").write_text("\n".join(markdown(entries)) + "\n", encoding="utf-8")


def markdown(entries: list[dict[str, Any]]) -> list[str]:
    """A line an arm; the verdicts on an arm stand on its line."""
    titles = ("system", "task", "arm", "split", "metric", "mean ± deviation (seeds)", "in train, too", "without those")
    titles += ("parameters", "updates", "minutes", "evidence", "verdict")
    lines = [_row(titles), "|" + "---|" * len(titles)]
    for entry in entries:
        for number, (name, arm) in enumerate(entry["arms"].items()):
            shown = "; ".join(f"{what} {value:.2f}" for what, value in arm["evidence"].items())
            told = [said(Comparison(**one)) for one in entry["comparisons"] if one["of"] == name]
            cells = [
                f"{entry['number']} {entry['name']}" if number == 0 else "",
                entry["task"] if number == 0 else "",
                name,
                arm["split"],
                label_of(entry["metric"]),
                f"{Sample(arm['values'])} ({len(arm['values'])})",
                *overlap_cells(arm),
                f"{arm['parameters']:,}",
                f"{arm['updates']:,}",
                f"{arm['minutes']:.1f}",
                shown,
                "; ".join(told),
            ]
            lines.append(_row(cells))
        for name, message in entry["refused"].items():
            lines.append(_row(["", "", name, "", "", f"refused: {message}", *[""] * 7]))
    everything = [Comparison(**one) for entry in entries for one in entry["comparisons"]]
    return [*lines, "", HOW_READ, "", how_judged(everything)]


HOW_READ = (
    "A checkpoint is chosen on dev; the score is that of `split`. In train, too: items of that split whose source also "
    "stands in the training data (and, in brackets, their target with it), but for case, Unicode form and white space; "
    "then the mean without them."
)


def overlap_cells(arm: dict[str, Any]) -> tuple[str, str]:
    """How many items stand in train, and the score without them."""
    found = arm["overlap"]
    if found is None:
        return "not measured", ""
    count = f"{found['sources']} ({found['pairs']}) of {found['n']:,}"
    return (count, f"{found['without']:.2f}") if found["sources"] else (count, "the same")


def overlap_sentence(arm: dict[str, Any]) -> str:
    """The same as a sentence."""
    found = arm["overlap"]
    if found is None:
        return "How many test items stand in train, too, was not measured."
    n, sources, pairs = (found[name] for name in ("n", "sources", "pairs"))
    if not sources:
        return f"None of the {n:,} {arm['split']} items stands in train, too."
    also = "all" if pairs == sources else f"{pairs:,}"
    return f"Of the {n:,} {arm['split']} items {sources:,} stand in train, too ({also} with their target)."


def said(one: Comparison) -> str:
    """What is asked of the first arm of a comparison, the answer, and how sure that is."""
    p = "" if one.p is None else f", p {one.p:.4f}, adjusted {one.adjusted:.3f}"
    return f"{one.asked} {one.against}? {one.verdict} ({one.gain:+.2f}{p})"


def _row(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"
