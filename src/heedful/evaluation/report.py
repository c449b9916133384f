"""The report of a run: one offline HTML file with its scores, curves, errors, attention, data and configuration.

Reads the records of the run. Pictures come ready-made from the caller, since only inspection can look into a model. The
page's looks and behaviour stand in `assets/`; a content policy forbids it every request.
"""

from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from heedful.evaluation.curves import TECHNICAL, Chart, chart_svg, charts_of, shown
from heedful.evaluation.metrics import is_right
from heedful.evaluation.report_diff import comparison
from heedful.evaluation.report_errors import errors_section
from heedful.evaluation.report_facts import (
    began,
    duration,
    machine_facts,
    model_facts,
    origin_facts,
    package_facts,
    preflight_facts,
    preparation_facts,
    training_facts,
)
from heedful.evaluation.report_html import Fact, copy_button, fact_list
from heedful.evaluation.report_scores import cards, scores_section
from heedful.records.compare import last_results, summarise
from heedful.records.manifest import split_of
from heedful.records.run import Run
from heedful.text.output_files import write_output


class Picture(NamedTuple):
    """An attention picture: a ready SVG, the layer and head that it shows, and the line that it is of."""

    source: str
    output: str
    references: list[str]
    svg: str
    where: str


class NextCommand(NamedTuple):
    """A command to try next, and what it does."""

    command: str
    purpose: str


def write_report(
    run: Run, path: Path, pictures: Sequence[Picture] = (), next_commands: Sequence[NextCommand] = ()
) -> None:
    """Write the report of a run; it shows whatever records there are, and says what is missing."""
    write_output(path, report(run, pictures, next_commands).encode())


def report(run: Run, pictures: Sequence[Picture] = (), next_commands: Sequence[NextCommand] = ()) -> str:
    """Return the report as one HTML text."""
    split = summarise(run).split
    chosen = last_results(run, split) if split else []
    errors = [row for row in run.read_errors() if split_of(row["id"]) == split]
    sections = [
        ("scores", "Scores", scores_section(run.read_results())),
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
        cards=cards(chosen),
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
    parts = [task, began(run), f"{summary.update:,} updates", f"{duration(_minutes(run))} of training"]
    complete = summary.state == "complete"
    return (
        f'<p class="kicker">Run report</p><h1>{escape(run.name)}</h1>'
        f'<p class="facts">{" · ".join(escape(part) for part in parts if part)} '
        f'<span class="badge {"good" if complete else "warn"}">{escape(summary.state)}</span></p>'
    )


def _minutes(run: Run) -> float:
    """Return how many minutes training took so far, unrounded."""
    timed = [line["seconds"] for line in run.read_log() if "update" in line and "seconds" in line]
    return timed[-1] / 60 if timed else 0.0


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
    drawn = "\n".join(map(_picture, pictures))
    return (
        '<p class="lead">A row is a step of the output: the token before it → the token that it predicts (the query). '
        "A column is a source token (a key). The stronger the colour, the larger the share of the row's attention that "
        f'goes there.</p><div class="pictures">{drawn}</div>'
    )


def _picture(picture: Picture) -> str:
    right = is_right(picture.output, picture.references)
    badge = '<span class="badge good">right</span>' if right else '<span class="badge bad">wrong</span>'
    return (
        f'<figure class="picture"><figcaption><b><bdi>{escape(picture.source)}</bdi></b>{badge}</figcaption>'
        f"{comparison(picture.output, picture.references)}"
        f'<div class="scroll">{picture.svg}</div><div class="quiet">{escape(picture.where)}</div></figure>'
    )


def _data(run: Run) -> str:
    """Describe the items of each split by the manifest, and the facts about the data."""
    counts = Counter(row.split for row in run.read_manifest())
    splits = [Fact(_SPLITS.get(split, split), f"{count:,} pairs") for split, count in counts.items()]
    lists = (
        fact_list(origin_facts(run), "Origin")
        + fact_list(splits, "Splits")
        + fact_list(preparation_facts(run), "Preparation")
    )
    return f'<div class="columns">{lists}</div>' if lists else ""


_SPLITS = {"train": "training", "dev": "validation (dev)"}


def _recipe(run: Run) -> str:
    lists = (
        fact_list(model_facts(run), "Model and search")
        + fact_list(training_facts(run), "Training")
        + fact_list(preflight_facts(run), "Before the first update")
        + fact_list(machine_facts(run), "Machine")
    )
    return (
        f'<div class="columns">{lists}</div>'
        f"<details><summary>Resolved recipe: every setting, to train the same again</summary>"
        f'{copy_button(run.config_text)}<pre class="toml">{escape(run.config_text)}</pre></details>'
        f"<details><summary>Versions of packages</summary>{fact_list(package_facts(run))}</details>"
    )


def _commands(commands: Sequence[NextCommand]) -> str:
    if not commands:
        return ""
    items = "\n".join(
        f"<li><span>{escape(purpose)}</span><code>{escape(command)}</code>{copy_button(command)}</li>"
        for command, purpose in commands
    )
    return f'<ol class="commands">{items}</ol>'
