"""The error section of a report: how many mistakes have which reason, and a readable selection of them.

Works on the lines of errors.jsonl, whichever model made them. Reasons are told from the texts anew, so that runs of
earlier versions are sorted as new ones are.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from heedful.evaluation.metrics import label_of
from heedful.evaluation.mistakes import REASONS, observe
from heedful.evaluation.report_diff import NOTHING, comparison, confusions
from heedful.evaluation.report_html import table
from heedful.records.outputs import Output

SHOWN_PER_REASON = 60

Record = Mapping[str, Any]


def errors_section(records: Sequence[Record], n_items: int | None) -> str:
    """Return bars of reasons that filter a table of mistakes; `n_items` is how many lines were scored, where known."""
    if not records:
        note = "Every scored line was right." if n_items else "No errors are recorded yet."
        return f'<p class="empty">{note}</p>'
    sorted_records = [_classified(record) for record in records]
    counts = Counter(record["reason"] for record in sorted_records)
    share = f" of {n_items:,} lines ({100 * len(records) / n_items:.1f}\u00a0%)" if n_items else " lines"
    selected = select(sorted_records)
    rest = (
        ""
        if len(selected) == len(records)
        else f" The table shows {len(selected):,} of them; all stand in <code>errors.jsonl</code>."
    )
    return "\n".join(
        [
            f'<p class="lead"><b>{len(records):,}</b>{share} equal none of their references, sorted by what is wrong '
            "with them. Choose a kind of error to see its lines.</p>",
            '<div class="reasons" role="group" aria-label="Show the errors of one kind">',
            *(_bar(reason, counts, len(records)) for reason, _ in counts.most_common()),
            '</div><p id="said" class="quiet" aria-live="polite"></p>',
            confusions((record["output"], record["references"]) for record in records),
            f'<h3>Lines</h3><p class="lead">The closest reference stands above the output; what is wrong is '
            f"<mark>marked</mark>, and {NOTHING} stands where a symbol is missing. The surest mistakes come first."
            f"{rest}</p>",
            '<label class="search">Find <input type="search" id="find" placeholder="in source, reference and output" '
            'autocomplete="off"></label><span id="found" class="quiet" aria-live="polite"></span>',
            _table(selected),
        ]
    )


def _classified(record: Record) -> dict[str, Any]:
    """Return the record with the reasons that this version sees."""
    item = Output(record["id"], record["source"], record["references"], record["output"], float(record["score"]))
    reasons = observe(item)
    return {**record, "reason": reasons[0], "reasons": reasons}


def select(records: Sequence[Record]) -> list[Record]:
    """Return at most 60 of each reason, those with the highest model score first: where it was sure, and wrong."""
    taken: Counter[str] = Counter()
    selected = []
    for record in sorted(records, key=lambda record: -float(record["score"])):
        if taken[record["reason"]] < SHOWN_PER_REASON:
            taken[record["reason"]] += 1
            selected.append(record)
    return selected


def _bar(reason: str, counts: Counter[str], total: int) -> str:
    count, largest = counts[reason], max(counts.values())
    return (
        f'<button type="button" class="reason" data-reason="{escape(reason)}" aria-pressed="false" '
        f'title="{escape(REASONS[reason])}"><span class="name">{escape(reason)}</span>'
        f'<span class="track"><span class="fill" style="width:{100 * count / largest:.1f}%"></span></span>'
        f'<span class="count">{count:,}</span><span class="share">{_share(count, total)}</span></button>'
    )


def _share(count: int, total: int) -> str:
    """Format a share in per cent; what would be rounded to nothing is less than one."""
    return f"{100 * count / total:.0f}\u00a0%" if 200 * count >= total else "&lt;\u00a01\u00a0%"


def _table(records: Sequence[Record]) -> str:
    metrics = [name for name in records[0]["measures"] if any(_informative(name, record) for record in records)]
    heads = ["line", "source", "reference and output", "error"]
    numbers = ["#log-probability", *(f"#{escape(label_of(name))}" for name in metrics)]
    made = table([*heads, *numbers], [_row(record, metrics) for record in records], list(map(_filtered_by, records)))
    return f'<div class="tall" id="mistakes">{made}</div>'


def _filtered_by(record: Record) -> str:
    """Return a row's attributes: its reason, and its texts without the columns of the comparison."""
    texts = " ".join([record["source"], *record["references"], record["output"]]).lower()
    return f' data-reason="{escape(record["reason"])}" data-text="{escape(texts)}"'


def _informative(name: str, record: Record) -> bool:
    """Return whether a metric says something about a single wrong item: exact and WER are 0 and 100 for all of them."""
    return record["measures"][name] not in (0.0, 100.0)


def _row(record: Record, metrics: Sequence[str]) -> list[str]:
    references = record["references"]
    listed = f'<div class="quiet"><bdi>any of: {"; ".join(map(escape, references))}</bdi></div>'
    also = ", ".join(record["reasons"][1:])
    chip = f'<span class="chip" title="{escape(also and f"also: {also}")}">{escape(record["reason"])}</span>'
    return [
        f'<span class="quiet nowrap">{escape(record["id"])}</span>',
        f"<bdi>{escape(record['source'])}</bdi>",
        comparison(record["output"], references) + (listed if len(references) > 1 else ""),
        chip,
        f"{float(record['score']):.2f}".replace("-", "\u2212"),
        *(f"{record['measures'][name]:.1f}" for name in metrics),
    ]
