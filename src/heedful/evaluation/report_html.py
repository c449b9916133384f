"""Small parts of HTML that the sections of a report share: tables, lists of facts, buttons that copy."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple


class Fact(NamedTuple):
    """A line of a list of facts, in words; `exact` is the whole value where `value` is short."""

    label: str
    value: str
    exact: str = ""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], attributes: Sequence[str] = ()) -> str:
    """Return an HTML table of ready cells; a heading that begins with "#" is of a column of numbers.

    On a narrow screen each row becomes a card whose cells carry their headings. `attributes` are those of the rows.
    """
    names = [head.removeprefix("#") for head in heads]
    kinds = [' class="number"' if head.startswith("#") else "" for head in heads]
    head = "".join(f"<th{kind}>{name}</th>" for kind, name in zip(kinds, names, strict=True))
    given = attributes or [""] * len(rows)
    body = "\n".join(f"<tr{extra}>{_cells(names, kinds, row)}</tr>" for row, extra in zip(rows, given, strict=True))
    return (
        '<div class="scroll"><table class="stacks">'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def _cells(names: Sequence[str], kinds: Sequence[str], row: Sequence[str]) -> str:
    cells = zip(names, kinds, row, strict=True)
    return "".join(f'<td{kind} data-head="{escape(name)}">{cell}</td>' for name, kind, cell in cells)


def fact_list(facts: Sequence[Fact], title: str = "") -> str:
    """Return facts as a list of terms; nothing where there is none."""
    if not facts:
        return ""
    items = "".join(map(_fact, facts))
    heading = f"<h3>{escape(title)}</h3>" if title else ""
    return f'<div class="facts-group">{heading}<dl>{items}</dl></div>'


def _fact(fact: Fact) -> str:
    exact = f' title="{escape(fact.exact)}"' if fact.exact else ""
    return f"<div><dt>{escape(fact.label)}</dt><dd{exact}>{escape(fact.value)}</dd></div>"


def copy_button(text: str) -> str:
    """Return a button that copies a text."""
    return f'<button type="button" class="copy" data-copy="{escape(text)}" aria-label="Copy">copy</button>'
