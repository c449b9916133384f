"""The report of a run: one offline HTML file with its scores, curves, errors, attention, data and configuration.

Reads the records of the run. Pictures come ready-made from the caller, since only inspection can look into a model. The
page's looks and behaviour stand in `assets/`; a content policy forbids it every request.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from heedful.config import flatten
from heedful.evaluation.curves import TECHNICAL, Chart, chart_svg, charts_of, shown
from heedful.evaluation.metrics import label_of, metric_names, metrics_for
from heedful.evaluation.report_errors import errors_section
from heedful.records.compare import last_results, summarise
from heedful.records.files import write_lines
from heedful.records.manifest import split_of
from heedful.records.results import Result
from heedful.records.run import Run


class Picture(NamedTuple):
    """An attention picture: a ready SVG, its heading and caption, and whether the output that it shows was right."""

    title: str
    svg: str
    caption: str
    right: bool | None = None


class NextCommand(NamedTuple):
    """A command to try next, and what it does."""

    command: str
    purpose: str


def write_report(
    run: Run, path: Path, pictures: Sequence[Picture] = (), next_commands: Sequence[NextCommand] = ()
) -> None:
    """Write the report of a run; it shows whatever records there are, and says what is missing."""
    write_lines(path, report(run, pictures, next_commands).splitlines())


def report(run: Run, pictures: Sequence[Picture] = (), next_commands: Sequence[NextCommand] = ()) -> str:
    """The report as one HTML text."""
    split = summarise(run).split
    chosen = last_results(run, split) if split else []
    errors = [row for row in run.read_errors() if split_of(row["id"]) == split]
    sections = [
        ("scores", "Scores", _scores(run.read_results())),
        ("curves", "Curves", _curves(charts_of(run.read_log()))),
        ("attention", "Attention", _pictures(pictures)),
        ("errors", "Errors", errors_section(errors, chosen[0].n if chosen else None)),
        ("data", "Data", _data(run)),
        ("recipe", "Recipe and machine", _recipe(run)),
        ("next", "Next", _commands(next_commands)),
    ]
    present = [section for section in sections if section[2]]
    assets = files("heedful.evaluation") / "assets"
    shell = Template((assets / "report.html").read_text(encoding="utf-8"))
    return shell.substitute(
        name=escape(run.name),
        style=(assets / "report.css").read_text(encoding="utf-8"),
        heading=_heading(run),
        cards=_cards(chosen),
        links="".join(f'<a href="#{anchor}">{title}</a>' for anchor, title, _ in present),
        sections="\n".join(_section(*section) for section in present),
        script=(assets / "report.js").read_text(encoding="utf-8"),
    )


def _section(anchor: str, title: str, body: str) -> str:
    heading = f'<h2 id="{anchor}-title">{title}</h2>'
    return f'<section id="{anchor}" aria-labelledby="{anchor}-title">{heading}\n{body}\n</section>'


def _heading(run: Run) -> str:
    summary = summarise(run)
    data = run.config().get("data", {})
    task = data.get("catalogue") or " ".join(Path(path).name for path in data.get("train", ()))
    parts = [task, f"{summary.update:,} updates", f"{shown(summary.minutes)} minutes of training"]
    complete = summary.state == "complete"
    return (
        f'<p class="kicker">Heedful report</p><h1>{escape(run.name)}</h1>'
        f'<p class="facts">{" · ".join(escape(part) for part in parts if part)} '
        f'<span class="badge {"good" if complete else "warn"}">{escape(summary.state)}</span></p>'
    )


def _cards(results: Sequence[Result]) -> str:
    """The test scores (or dev, before there is a test score), large, each with its interval."""
    if not results:
        return '<p class="empty">No scores yet: <code>heedful evaluate</code> makes them.</p>'
    cards = []
    for row in results:
        low, high = row.ci_low, row.ci_high
        interval = "" if low is None or high is None else f"{low:.2f} to {high:.2f}"
        cards.append(
            f'<div class="card"><div class="label">{escape(label_of(row.metric))}<span>{escape(row.split)}</span></div>'
            f'<div class="value">{row.value:.2f}</div>{_range(row)}'
            f'<div class="quiet">{interval and f"95 %: {interval}"}</div>'
            f'<div class="quiet">n = {row.n:,}{_direction(row.metric)}</div></div>'
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _direction(metric: str) -> str:
    if metric not in metric_names():
        return ""
    return " · higher is better" if metrics_for([metric])[0].higher_is_better else " · lower is better"


def _range(row: Result) -> str:
    """The interval as a strip on a scale from 0 to 100 (or as far as it goes)."""
    if row.ci_low is None or row.ci_high is None:
        return ""
    scale = 100 / max(100.0, row.ci_high)
    left, width = row.ci_low * scale, (row.ci_high - row.ci_low) * scale
    return (
        '<div class="range" aria-hidden="true">'
        f'<span class="interval" style="left:{left:.2f}%;width:{width:.2f}%"></span>'
        f'<span class="point" style="left:{row.value * scale:.2f}%"></span></div>'
    )


def _scores(rows: Sequence[Result]) -> str:
    """Evaluations with what they rest on; validations during training carry no signature and are in the curves."""
    final = [row for row in rows if row.signature]
    if not final:
        return ""
    heads = ["split", "metric", "#value", "#95 % interval", "#n", "checkpoint", "#seed", "signature"]
    note = (
        "Intervals are percentile bootstrap over items. Two numbers may be compared if their signatures agree in data, "
        "split, metric and counting; <code>heedful compare</code> checks it."
    )
    return f'{_table(heads, [_score_cells(row) for row in final])}<p class="quiet">{note}</p>'


def _score_cells(row: Result) -> list[str]:
    interval = "" if row.ci_low is None else f"{row.ci_low:.2f} – {row.ci_high:.2f}"
    signature = escape(row.signature).replace("|", "<wbr>|").replace(",", ",<wbr>")
    return [
        escape(row.split),
        escape(label_of(row.metric)),
        f"<b>{row.value:.2f}</b>",
        interval,
        f"{row.n:,}",
        f'<span class="nowrap">{escape(row.checkpoint)}</span>',
        str(row.seed),
        f'<div class="signature"><code>{signature}</code>{_copy(row.signature)}</div>',
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table of ready cells; a heading that begins with "#" is of a column of numbers."""
    kinds = [' class="number"' if head.startswith("#") else "" for head in heads]
    head = "".join(f"<th{kind}>{name.removeprefix('#')}</th>" for kind, name in zip(kinds, heads, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _curves(charts: Sequence[Chart]) -> str:
    if not charts:
        return ""
    learning = "\n".join(_figure(chart) for chart in charts if chart.name not in TECHNICAL)
    technical = "\n".join(_figure(chart) for chart in charts if chart.name in TECHNICAL)
    return (
        '<fieldset class="switch"><legend>over</legend>'
        '<label><input type="radio" name="over" id="over-updates" checked>updates</label>'
        '<label><input type="radio" name="over" id="over-minutes">minutes</label></fieldset>'
        f'<div class="charts">{learning}</div><div class="charts small">{technical}</div>'
    )


def _figure(chart: Chart) -> str:
    key = "".join(
        f'<span class="key {line.kind}">{line.kind} <b>{shown(line.values[-1])}</b></span>' for line in chart.lines
    )
    best = '<span class="key best">best checkpoint</span>' if chart.chosen is not None else ""
    return (
        f'<figure><figcaption><b>{escape(chart.title)}</b><span class="keys">{key}{best}</span></figcaption>'
        f'{chart_svg(chart, "updates")}{chart_svg(chart, "minutes")}<output class="tip" hidden></output></figure>'
    )


def _pictures(pictures: Sequence[Picture]) -> str:
    if not pictures:
        return ""
    cards = "\n".join(_picture(picture) for picture in pictures)
    return (
        '<p class="lead">Each row is an output symbol (what was read → what was written), each column a source symbol; '
        f'the stronger the colour, the more it was attended to.</p><div class="pictures">{cards}</div>'
    )


def _picture(picture: Picture) -> str:
    badge = {
        True: '<span class="badge good">right</span>',
        False: '<span class="badge bad">wrong</span>',
        None: "",
    }[picture.right]
    return (
        f'<figure class="picture"><figcaption><b dir="auto">{escape(picture.title)}</b>{badge}'
        f'<div class="quiet" dir="auto">{escape(picture.caption)}</div></figcaption>'
        f'<div class="scroll">{picture.svg}</div></figure>'
    )


def _data(run: Run) -> str:
    """Items of each split by the manifest, the settings of the data, and what preparing it logged."""
    counts = Counter(row.split for row in run.read_manifest())
    table = _table(["split", "#pairs"], [[escape(split), f"{count:,}"] for split, count in counts.items()])
    facts = _facts({**flatten(run.config().get("data", {})), **_logged(run, "prepared")})
    return f'<div class="columns">{table if counts else ""}{facts}</div>' if counts or facts else ""


def _recipe(run: Run) -> str:
    environment = run.environment()
    packages, command = environment.pop("packages", {}), environment.pop("command", [])
    machine = {"command": " ".join(command), **flatten(environment), **packages}
    return (
        f"{_facts(_logged(run, 'preflight'))}<details open><summary>Resolved recipe {_copy(run.config_text)}</summary>"
        f'<pre class="toml">{escape(run.config_text)}</pre></details>'
        f"<details><summary>Machine and versions</summary>{_facts(machine)}</details>"
    )


def _logged(run: Run, event: str) -> dict[str, Any]:
    """The facts of the last event of a name, flat."""
    last = run.read_log(event)[-1:]
    return {key: value for line in last for key, value in flatten(line).items() if key not in ("time", "event")}


def _facts(facts: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{escape(key)}</th><td>{escape(_plain(value))}</td></tr>"
        for key, value in facts.items()
        if value not in ("", [])
    )
    return f'<table class="pairs"><tbody>{rows}</tbody></table>' if rows else ""


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _commands(commands: Sequence[NextCommand]) -> str:
    if not commands:
        return ""
    items = "\n".join(
        f"<li><span>{escape(purpose)}</span><code>{escape(command)}</code>{_copy(command)}</li>"
        for command, purpose in commands
    )
    return f'<ol class="commands">{items}</ol>'


def _copy(text: str) -> str:
    return f'<button type="button" class="copy" data-copy="{escape(text)}" aria-label="Copy">copy</button>'
