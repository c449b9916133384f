"""Figures as pictures: bars of every group that compares systems; curves of growth, of losses, of BLEU."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from rows import Row, number

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OURS, THEIRS = "#1f6feb", "#9aa4b2"


def draw_bars(rows: Sequence[Row], path: Path) -> None:
    """One panel a group with ratios: medians as bars, smallest and largest as whiskers, Heedful in another colour."""
    groups = list(dict.fromkeys(row.group for row in rows if row.ratio is not None))
    heights = [sum(row.group == name for row in rows) + 1.5 for name in groups]
    figure, axes = plt.subplots(
        len(groups), 1, figsize=(9, 0.28 * sum(heights) + 0.5), height_ratios=heights, squeeze=False
    )
    for axis, name in zip(axes[:, 0], groups, strict=True):
        mine = [row for row in rows if row.group == name][::-1]
        medians = [row.figure.median for row in mine]
        below = [row.figure.median - row.figure.low for row in mine]
        above = [row.figure.high - row.figure.median for row in mine]
        colours = [OURS if "eedful" in row.system else THEIRS for row in mine]
        axis.barh(
            [row.system for row in mine], medians, xerr=[below, above], color=colours, error_kw={"elinewidth": 0.8}
        )
        for place, value in enumerate(medians):
            axis.text(0, place, f" {number(value)}", va="center", fontsize=7, color="white")
        axis.set_title(name, fontsize=9, loc="left")
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def draw_growth(details: Mapping[str, Any], path: Path) -> None:
    """Seconds and memory against size, both axes logarithmic, one line a series."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for name, series in details.items():
        seconds = [sorted(point["seconds"])[len(point["seconds"]) // 2] for point in series["points"]]
        axes[0].loglog(series["values"], seconds, "o-", markersize=3, label=name)
        axes[1].loglog(series["values"], [point["memory_mb"] for point in series["points"]], "o-", markersize=3)
    axes[0].set(title="seconds", xlabel="size")
    axes[1].set(title="memory above the imports, MB", xlabel="size")
    axes[0].legend(fontsize=7)
    _save(figure, path)


def draw_losses(rounds: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Training loss against updates, a thin line a seed."""
    figure, axis = plt.subplots(figsize=(8, 4.5))
    for colour, (name, those) in enumerate(rounds.items()):
        for seed, one in enumerate(those):
            label = name if seed == 0 else None
            axis.plot(range(1, len(one["losses"]) + 1), one["losses"], color=f"C{colour}", linewidth=0.9, label=label)
    axis.set(xlabel="update", ylabel="smoothed loss a target token, nats")
    axis.legend(fontsize=7)
    _save(figure, path)


def draw_curves(curves: Mapping[str, Sequence[tuple[float, float]]], path: Path) -> None:
    """BLEU on dev against minutes, one line a system."""
    figure, axis = plt.subplots(figsize=(8, 4.5))
    for name, points in curves.items():
        axis.plot([x for x, _ in points], [y for _, y in points], "o-", markersize=3, label=name)
    axis.set(xlabel="minutes of the common clock", ylabel="BLEU on dev")
    axis.legend(fontsize=8)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
