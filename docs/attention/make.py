"""Fill the marked parts of these pages: facts from `heedful.gallery.family`, results from the table of experiments,
pictures from draw.py. All else on a page is written by hand. The results are also kept with the program, whose
`heedful attention show` prints them.

python docs/attention/make.py
"""

import json
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import draw

from heedful.evaluation.metrics import label_of
from heedful.gallery.family import FAMILY, Member
from heedful.gallery.measured import Arm, MeasuredSystem, results

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
from family_table import overlap_cells, overlap_sentence, said
from family_verdicts import Comparison

HERE = Path(__file__).parent
TABLE = HERE.parents[1] / "experiments" / "family" / "table.json"
KEPT = HERE.parents[1] / "src" / "heedful" / "gallery" / "assets" / "family.json"
NOT_YET = "Not measured yet."


def main() -> None:
    """Write all pages, the index, and the pictures."""
    if TABLE.exists():
        KEPT.write_text(kept(json.loads(TABLE.read_text("utf-8"))), "utf-8")
    for page in pages():
        path = HERE / f"{page}.md"
        path.write_text(filled(path.read_text("utf-8"), parts(page)), "utf-8")
        (HERE / "pictures" / f"{page}.svg").write_text(draw.PICTURES[page](), "utf-8")
    index = HERE / "README.md"
    index.write_text(filled(index.read_text("utf-8"), {"index": contents()}), "utf-8")


def pages() -> list[str]:
    """The names of all pages but the index, in the order of the family; those of no member come last."""
    ordered = dict.fromkeys(member.page for member in FAMILY)
    return [*ordered, *sorted(path.stem for path in HERE.glob("*.md") if path.stem not in {"README", *ordered})]


def parts(page: str) -> dict[str, str]:
    """What stands between each pair of marks of a page."""
    members = [member for member in FAMILY if member.page == page]
    found = {"result": result(results(page))}
    return {**found, "facts": facts(members), "weak": weak(members)} if members else found


def filled(text: str, new: dict[str, str]) -> str:
    """The text with these parts between their marks; ValueError where a mark has no part, or a part no mark."""
    marks = re.findall(r"<!-- (\w+) -->\n", text)
    if sorted(name for name in marks if name != "end") != sorted(new):
        raise ValueError(f"The marks are {marks}, the parts {sorted(new)}.")
    for name, part in new.items():
        start, end = re.escape(f"<!-- {name} -->\n"), re.escape("<!-- end -->")
        text = re.sub(
            f"({start}).*?({end})", lambda found, part=part: f"{found[1]}{part}\n{found[2]}", text, flags=re.S
        )
    return text


def facts(members: list[Member]) -> str:
    """The slots of each member, then its equation, its source and its place in the code."""
    rows = [("member", "score", "mask", "normalise", "aggregate")]
    rows += [(f"`{m.name}`", m.score, m.mask, m.normalise, m.aggregate) for m in members]
    lines = [_row(rows[0]), _row(["---"] * 5), *map(_row, rows[1:]), ""]
    for m in members:
        code = ", ".join(f"`heedful.{symbol}`" for symbol in m.symbols)
        lines.append(f"- **{m.name}**: `{m.equation}` [{m.source}]. In the code: {code}.")
    return "\n".join(lines)


def weak(members: list[Member]) -> str:
    """What each is not good for."""
    if len(members) == 1:
        return members[0].weak
    return "\n".join(f"- **{m.name}**: {m.weak}" for m in members)


def kept(table: list[dict[str, Any]]) -> str:
    """The table as the program keeps it."""
    summary = []
    for entry in table:
        words = {field: entry[field] for field in ("page", "name", "task", "licence")}
        arms = [_arm(name, arm)._asdict() for name, arm in entry["arms"].items()]
        first = next(iter(entry["arms"].values()))
        shown = {"recipe": Path(entry["recipe"]).stem, "metric": label_of(entry["metric"]), "split": first["split"]}
        verdicts = [f"Is {one['of']} {said(Comparison(**one))}" for one in entry["comparisons"]]
        summary.append({**words, **shown, "overlap": overlap_sentence(first), "arms": arms, "verdicts": verdicts})
    return json.dumps(summary, indent=1, ensure_ascii=False) + "\n"


def _arm(name: str, arm: dict[str, Any]) -> Arm:
    minutes = round(arm["minutes"], 1)
    return Arm(name, _score(arm["values"]), overlap_cells(arm)[1], arm["parameters"], minutes, arm["evidence"])


def result(measured: list[MeasuredSystem]) -> str:
    """For each system the verdicts on its arms, and a table of them."""
    return "\n\n".join(map(_result, measured)) or NOT_YET


def _result(one: MeasuredSystem) -> str:
    lines = [
        f"**{one.name}**. {one.task} ({one.licence}), `recipes/{one.recipe}.toml`. {one.overlap}",
        *(f"{verdict}." for verdict in one.verdicts),
        "",
        _row(("", f"{one.metric} on {one.split}, mean ± deviation", "without", "parameters", "minutes", "evidence")),
        _row(["---"] * 6),
    ]
    for arm in one.arms:
        shown = "; ".join(f"{what} {value:.2f}" for what, value in arm.evidence.items())
        lines.append(_row((arm.name, arm.score, arm.without, f"{arm.parameters:,}", f"{arm.minutes:.1f}", shown)))
    return "\n".join(lines)


def _score(values: Sequence[float]) -> str:
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{spread} ({len(values)} seeds)"


def contents() -> str:
    """A row for each page, with its members."""
    lines = [_row(("page", "members", "source")), _row(["---"] * 3)]
    for page in pages():
        title = (HERE / f"{page}.md").read_text("utf-8").splitlines()[0].removeprefix("# ")
        members = [member for member in FAMILY if member.page == page]
        names = ", ".join(f"`{member.name}`" for member in members)
        sources = "; ".join(dict.fromkeys(member.source for member in members))
        lines.append(_row((f"[{title}]({page}.md)", names, sources)))
    return "\n".join(lines)


def _row(cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()
