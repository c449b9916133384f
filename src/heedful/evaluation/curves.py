"""Line charts of a run's log as inline SVG: what was logged at each update, over updates or over minutes.

Draws whatever numbers the log holds; knows the names of a few, to head and order them. Colours are classes that the
page's style sheet fills.
"""

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, NamedTuple

from heedful.evaluation.metrics import label_of, unit_of

WIDTH, HEIGHT = 520, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 12, 34
MOST_POINTS = 400  # of one line; more are thinned, keeping the first and the last
KINDS = ("train", "validation")
TITLES = {
    "loss": "Loss, nats a token (in training: label-smoothed)",
    "perplexity": "Perplexity (without label smoothing)",
    "learning_rate": "Learning rate",
    "gradient_norm": "Gradient norm",
    "target_tokens_per_second": "Target tokens a second",
}
TECHNICAL = ("learning_rate", "gradient_norm", "target_tokens_per_second")
NO_VALUES = ("update", "seconds", "best", "time", "event", "validation_seconds", "tokens", "sentences")


class Line(NamedTuple):
    """One line of a chart: the values, and the updates and minutes at which they were logged."""

    kind: str
    updates: list[int]
    minutes: list[float]
    values: list[float]


class Chart(NamedTuple):
    """All lines of one logged name. `chosen` is the update of the best checkpoint so far, None if none was marked."""

    name: str
    title: str
    lines: list[Line]
    chosen: int | None


def charts_of(log: Iterable[Mapping[str, Any]]) -> list[Chart]:
    """Make a chart for each number that "train" and "validation" events log: losses, then metrics, then the rest."""
    lines: dict[str, dict[str, Line]] = {}
    chosen = None
    for entry in log:
        if entry["event"] not in KINDS:
            continue
        if entry.get("best"):
            chosen = entry["update"]
        for name, value in entry.items():
            if name in NO_VALUES or not isinstance(value, int | float) or not math.isfinite(value):
                continue
            line = lines.setdefault(name, {}).setdefault(entry["event"], Line(entry["event"], [], [], []))
            line.updates.append(entry["update"])
            line.minutes.append(entry["seconds"] / 60)
            line.values.append(float(value))
    order = sorted(lines, key=lambda name: (name in TECHNICAL, name not in TITLES, list(lines).index(name)))
    return [
        Chart(
            name=name,
            title=TITLES.get(name) or _title(name),
            lines=[lines[name][kind] for kind in KINDS if kind in lines[name]],
            chosen=chosen if "validation" in lines[name] else None,
        )
        for name in order
    ]


def _title(name: str) -> str:
    """Return a metric's label, with its unit where it is a rate; any other name in plain words."""
    unit = unit_of(name)
    return f"{label_of(name)}, {unit}" if unit else label_of(name).replace("_", " ")


def chart_svg(chart: Chart, over: str) -> str:
    """Draw a chart `over` "updates" or "minutes"; the values travel in data attributes, for the page's pointer."""
    lines = [_thinned(line) for line in chart.lines]
    xs = [x for line in lines for x in (line.updates if over == "updates" else line.minutes)]
    ys = [y for line in lines for y in line.values]
    logarithmic = chart.name == "perplexity" and min(ys) > 0
    across = _Axis(0, max(*xs, 1e-9), LEFT, WIDTH - RIGHT, logarithmic=False)
    low, high = _padded(min(ys), max(ys), logarithmic)
    up = _Axis(low, high, HEIGHT - BOTTOM, TOP, logarithmic)
    drawn = [part for line in lines for part in _drawn(line, over, across, up, chart.chosen)]
    last = "; ".join(f"{line.kind} ends at {shown(line.values[-1])}" for line in lines)
    return "\n".join(
        [
            f'<svg class="chart over-{over}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape(chart.title)} over {over}: {escape(last)}" data-over="{over}">',
            *_grid(across, up, over),
            *drawn,
            f'<line class="cursor" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/>',
            "</svg>",
        ]
    )


def shown(value: float) -> str:
    """Format a number as a label: four significant digits, no exponent between a ten-thousandth and a million."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        decimals = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
        text = f"{value:,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.1e}"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high, about so many, in steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten from low to high; powers alone where these would crowd, even steps where
    few.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    found = [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]
    return found if len(found) >= 3 else ticks(low, high)


class _Axis(NamedTuple):
    """Maps values to user units of the drawing."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool

    def at(self, value: float) -> float:
        scale = math.log if self.logarithmic else float
        low, high = scale(self.low), scale(self.high)
        return round(self.start + (scale(value) - low) / (high - low) * (self.end - self.start), 1)


def _padded(low: float, high: float, logarithmic: bool) -> tuple[float, float]:
    """Return the range of an axis: a little margin on both sides, and from 0 where that costs less than half of the
    height.
    """
    if logarithmic:
        return low / 1.15, high * 1.15
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return (0.0 if 0 <= low < high / 2 else low - room), high + room


def _thinned(line: Line) -> Line:
    count = len(line.values)
    if count <= MOST_POINTS:
        return line
    kept = [round(i * (count - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)]
    return Line(
        line.kind,
        [line.updates[i] for i in kept],
        [line.minutes[i] for i in kept],
        [line.values[i] for i in kept],
    )


def _grid(across: _Axis, up: _Axis, over: str) -> list[str]:
    parts = []
    for value in log_ticks(up.low, up.high) if up.logarithmic else ticks(up.low, up.high):
        y = up.at(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{shown(value)}</text>')
    for value in ticks(across.low, across.high):
        x = across.at(value)
        parts.append(
            f'<text class="tick" x="{x}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{shown(value)}</text>'
        )
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up.start}" y2="{up.start}"/>')
    parts.append(f'<text class="unit" x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" text-anchor="end">{over}</text>')
    return parts


def _drawn(line: Line, over: str, across: _Axis, up: _Axis, chosen: int | None) -> list[str]:
    places = line.updates if over == "updates" else line.minutes
    points = [(across.at(x), up.at(y)) for x, y in zip(places, line.values, strict=True)]
    joined = " ".join(f"{x},{y}" for x, y in points)
    values = " ".join(f"{value:.6g}" for value in line.values)
    named = " ".join(f"{place:.6g}" for place in places)
    parts = [
        f'<polyline class="line {line.kind}" points="{joined}" data-kind="{line.kind}" data-at="{named}" '
        f'data-values="{values}"/>'
    ]
    if line.kind == "validation":
        parts += [
            f'<circle class="dot {line.kind}" cx="{x}" cy="{y}" r="2.2"/>' for x, y in points if len(points) <= 60
        ]
        if chosen in line.updates:
            x, y = points[line.updates.index(chosen)]
            parts.append(
                f'<circle class="chosen" cx="{x}" cy="{y}" r="5.5"><title>best: update {chosen}</title></circle>'
            )
    elif len(points) == 1:
        parts.append(f'<circle class="dot {line.kind}" cx="{points[0][0]}" cy="{points[0][1]}" r="2.2"/>')
    return parts
