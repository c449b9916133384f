"""The scores of a report: large ones with their intervals, and the table of all with what they rest on."""

from collections.abc import Sequence
from html import escape

from heedful.evaluation.metrics import label_of, meaning_of, metric_names, metrics_for, unit_of, valued
from heedful.evaluation.report_html import copy_button, table
from heedful.records.results import Result


def cards(results: Sequence[Result]) -> str:
    """Return the test scores (or dev, before there is a test score), large, each with its meaning and interval."""
    if not results:
        return '<p class="empty">No scores yet: <code>heedful evaluate</code> makes them.</p>'
    return f'<div class="cards">{"".join(map(_card, results))}</div>'


def _card(row: Result) -> str:
    unit = unit_of(row.metric)
    sign = f'<span class="unit-sign">\u00a0{unit}</span>' if unit else ""
    low, high = row.ci_low, row.ci_high
    interval = "" if low is None or high is None else f"95 % interval {low:.2f} to {valued(high, row.metric)}"
    count = f"{row.n:,} {'line' if row.n == 1 else 'lines'}{_direction(row.metric)}"
    return (
        f'<div class="card"><div class="label">{escape(label_of(row.metric))}<span>{escape(row.split)}</span></div>'
        f'<div class="value">{row.value:.2f}{sign}</div>'
        f'<div class="meaning">{escape(meaning_of(row.metric))}</div>{_range(row)}'
        f'<div class="quiet">{interval}</div><div class="quiet">{count}</div></div>'
    )


def _direction(metric: str) -> str:
    if metric not in metric_names():
        return ""
    return " · higher is better" if metrics_for([metric])[0].higher_is_better else " · lower is better"


def _range(row: Result) -> str:
    """Draw the interval as a strip on a scale from 0 to 100 (or as far as it goes)."""
    if row.ci_low is None or row.ci_high is None:
        return ""
    scale = 100 / max(100.0, row.ci_high)
    left, width = row.ci_low * scale, (row.ci_high - row.ci_low) * scale
    return (
        '<div class="range" aria-hidden="true">'
        f'<span class="interval" style="left:{left:.2f}%;width:{width:.2f}%"></span>'
        f'<span class="point" style="left:{row.value * scale:.2f}%"></span></div>'
    )


def scores_section(rows: Sequence[Result]) -> str:
    """Return the evaluations with what they rest on; validations during training are in the curves."""
    final = [row for row in rows if row.signature]
    if not final:
        return ""
    heads = ["split", "metric", "#value", "#95 % interval", "#lines", "weights", "#seed", "signature"]
    note = (
        "Intervals are percentile bootstrap over lines. Two numbers may be compared if their signatures agree in data, "
        "split, metric and counting; <code>heedful compare</code> checks it."
    )
    return f'{table(heads, [_score_cells(row) for row in final])}<p class="quiet">{note}</p>'


def _score_cells(row: Result) -> list[str]:
    interval = "" if row.ci_low is None else f"{row.ci_low:.2f} – {row.ci_high:.2f}"
    signature = escape(row.signature).replace("|", "<wbr>|").replace(",", ",<wbr>")
    return [
        escape(row.split),
        f'<abbr title="{escape(meaning_of(row.metric))}">{escape(label_of(row.metric))}</abbr>',
        f"<b>{valued(row.value, row.metric)}</b>",
        interval,
        f"{row.n:,}",
        f'<span class="nowrap">{escape(weights_of(row.checkpoint))}</span>',
        str(row.seed),
        f'<div class="signature"><code>{signature}</code>{copy_button(row.signature)}</div>',
    ]


def weights_of(checkpoint: str) -> str:
    """Return a checkpoint's name in words: "update 218" for update-00000218, "average of 5" for average-of-5."""
    kind, _, number = checkpoint.partition("-")
    if kind == "update" and number.isdigit():
        return f"update {int(number):,}"
    return checkpoint.replace("-", " ")
