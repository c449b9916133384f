"""The tables that stand in pages: the whole one in docs/benchmarks.md, its headlines in README.md.

Made of what is kept, so that they can be written anew without measuring.
"""

from collections.abc import Mapping
from typing import Any

from aims import aims_of
from headlines import headline_table, headlines_of
from measure import ROOT
from results import TIME_TO_BLEU, Results, between_marks, stored_rows
from rows import Row, markdown_table

PARTS = ("training", "decoding", "startup", "growth")  # in the order of the table
MARK = "benchmarks"


def write_pages(results: Results) -> None:
    """Put the tables between the marks of their pages."""
    for page, table in tables(results).items():
        path = ROOT / page
        path.write_text(between_marks(path.read_text("utf-8"), MARK, table), "utf-8")


def tables(results: Results) -> dict[str, str]:
    """Return what stands in each page between its marks."""
    headlines = headlines_of(results.parts, stored_rows(TIME_TO_BLEU))
    return {
        "docs/benchmarks.md": f"{heading(results.parts)}\n\n{markdown_table(all_rows(results))}",
        "README.md": f"{heading(results.parts)}\n\n{headline_table(headlines)}",
    }


def all_rows(results: Results) -> list[Row]:
    """Return the rows of the whole table."""
    return results.rows(PARTS) + stored_rows(TIME_TO_BLEU) + aims_of(results.parts)


def heading(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Say when and where the parts were measured."""
    if not parts:
        return "Nothing was measured."
    dates = sorted(part["date"][:10] for part in parts.values())
    span = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    machines = dict.fromkeys(machine_name(part["machine"]) for part in parts.values())
    return f"Measured {span} on {' and on '.join(machines)}."


def machine_name(machine: Mapping[str, Any]) -> str:
    """Name the processor, its cores and memory, and the versions that ran there."""
    torch = machine.get("packages", {}).get("torch", "?")
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['python']}, torch {torch}"
