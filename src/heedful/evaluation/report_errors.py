"""The error section of a report: how many mistakes have which reason, and a readable selection of them.

Works on the lines of errors.jsonl, whichever model made them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rapidfuzz.distance import Levenshtein

from heedful.evaluation.metrics import label_of
from heedful.evaluation.mistakes import REASONS, beside_closest

SHOWN_PER_REASON = 60

Record = Mapping[str, Any]


def errors_section(records: Sequence[Record], n_items: int | None) -> str:
    """Bars of reasons that filter a table of mistakes; `n_items` is how many items were scored, where known."""
    if not records:
        note = "Every scored item was right." if n_items else "No errors are recorded yet."
        return f'<p class="empty">{note}</p>'
    counts = Counter(record["reason"] for record in records)
    share = f" of {n_items:,} ({100 * len(records) / n_items:.1f} %)" if n_items else ""
    selected = select(records)
    rest = (
        ""
        if len(selected) == len(records)
        else f" The table shows {len(selected):,}; all stand in <code>errors.jsonl</code>."
    )
    return "\n".join(
        [
            f'<p class="lead"><b>{len(records):,}</b> items{share} equal none of their references.{rest} '
            "In the output, <mark>marked</mark> symbols differ from the closest reference, and a "
            '<span class="gap">·</span> is a missing one. The surest mistakes come first.</p>',
            '<div class="reasons" role="group" aria-label="Show the errors of one reason">',
            *(_bar(reason, counts, len(records)) for reason, _ in counts.most_common()),
            "</div>",
            '<label class="search">Find <input type="search" id="find" placeholder="in source, reference and output" '
            'autocomplete="off"></label><span id="found" class="quiet" aria-live="polite"></span>',
            _table(selected),
        ]
    )


def select(records: Sequence[Record]) -> list[Record]:
    """At most 60 of each reason, those with the highest model score first: where the model was sure, and wrong."""
    taken: Counter[str] = Counter()
    selected = []
    for record in sorted(records, key=lambda record: -float(record["score"])):
        if taken[record["reason"]] < SHOWN_PER_REASON:
            taken[record["reason"]] += 1
            selected.append(record)
    return selected


def marked(output: str, references: Sequence[str]) -> str:
    """The output as HTML, with what differs from its closest reference marked.

    By blank-separated symbols; by characters where neither side has a blank.
    """
    written, target, joint = beside_closest(output, references)
    parts = []
    for step in Levenshtein.opcodes(written, target):
        text = escape(joint.join(written[step.src_start : step.src_end]))
        wanted = escape(joint.join(target[step.dest_start : step.dest_end]))
        if step.tag == "equal":
            parts.append(text)
        elif step.tag == "insert":
            parts.append(f'<span class="gap" title="missing: {wanted}">·</span>')
        else:
            parts.append(f'<mark title="{f"instead of {wanted}" if wanted else "too much"}">{text}</mark>')
    return joint.join(parts)


def _bar(reason: str, counts: Counter[str], total: int) -> str:
    count, largest = counts[reason], max(counts.values())
    return (
        f'<button type="button" class="reason" data-reason="{escape(reason)}" aria-pressed="false" '
        f'title="{escape(REASONS[reason])}"><span class="name">{escape(reason)}</span>'
        f'<span class="track"><span class="fill" style="width:{100 * count / largest:.1f}%"></span></span>'
        f'<span class="count">{count:,}</span><span class="share">{100 * count / total:.0f} %</span></button>'
    )


def _table(records: Sequence[Record]) -> str:
    metrics = [name for name in records[0]["measures"] if any(_informative(name, record) for record in records)]
    heads = ["id", "source", "reference", "output", "reason"]
    numbers = [
        'title="the model\'s own score, a log-probability">score',
        *(f">{escape(label_of(name))}" for name in metrics),
    ]
    head = "".join(f"<th>{name}</th>" for name in heads) + "".join(
        f'<th class="number" {name}</th>' for name in numbers
    )
    rows = "\n".join(_row(record, metrics) for record in records)
    return (
        f'<div class="scroll tall"><table id="mistakes"><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _informative(name: str, record: Record) -> bool:
    """Whether a metric says something about a single wrong item: exact and WER are 0 and 100 for all of them."""
    return record["measures"][name] not in (0.0, 100.0)


def _row(record: Record, metrics: Sequence[str]) -> str:
    first, *others = record["references"]
    more = f'<div class="quiet">or {"; ".join(map(escape, others))}</div>' if others else ""
    output = marked(record["output"], record["references"]) or '<i class="quiet">nothing</i>'
    values = "".join(f'<td class="number">{record["measures"][name]:.1f}</td>' for name in metrics)
    also = ", ".join(record["reasons"][1:])
    return (
        f'<tr data-reason="{escape(record["reason"])}"><td class="quiet nowrap">{escape(record["id"])}</td>'
        f'<td dir="auto">{escape(record["source"])}</td><td dir="auto">{escape(first)}{more}</td>'
        f'<td dir="auto">{output}</td><td><span class="chip" title="{escape(also and f"also: {also}")}">'
        f'{escape(record["reason"])}</span></td><td class="number">{float(record["score"]):.2f}</td>{values}</tr>'
    )
