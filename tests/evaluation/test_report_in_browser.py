"""The report in chromium: it fits phones and wide screens, in both colour schemes, and its buttons do what they say."""

import re
from pathlib import Path

import pytest
from tests.evaluation.made_up import made_run
from tests.inspection.browser import opened, run_in_page
from tests.inspection.made_up import RTL, WORD

from heedful.evaluation.report import NextCommand, Picture, report
from heedful.inspection.svg import trace_svg


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a run with everything in it."""
    run, _ = made_run(tmp_path_factory.mktemp("runs") / ("a-run-with-a-long-name" * 3), 0.3)
    pictures = [
        Picture("heedful", "HH IY D", ["HH IY D F AH L"], trace_svg(WORD, "decoder.1.cross"), "Cross-attention"),
        Picture("الكتاب", "הספר", ["הספר"], trace_svg(RTL, "decoder.1.cross"), "Cross-attention"),
    ]
    return report(run, pictures, [NextCommand("heedful inspect run attention --html attention.html", "look")])


@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_nothing_is_cut_and_the_page_never_scrolls_sideways(page: str, tmp_path: Path, width: int) -> None:
    script = """
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
    const shown = [...document.querySelectorAll("main *, header *")].filter((one) => one.getClientRects().length);
    const framed = (one) => one.closest(".scroll, .toml, nav, svg, .chart");
    const out = shown.filter((one) => !framed(one) && one.getBoundingClientRect().right > innerWidth + 1);
    return [document.documentElement.scrollWidth <= innerWidth, out.map((one) => one.outerHTML.slice(0, 80))];
    """
    assert run_in_page(page, tmp_path, script, width=width) == [True, []]


def test_tables_stack_on_a_phone_and_every_cell_says_what_it_is(page: str, tmp_path: Path) -> None:
    script = """
    const rows = [...document.querySelectorAll(".stacks tbody tr")];
    const seen = (cell) => cell.getBoundingClientRect().right <= innerWidth;
    const head = (cell) => getComputedStyle(cell, "::before").content;
    const heads = [...document.querySelectorAll("#scores td")].map(head);
    return [rows.length, rows.every((row) => [...row.cells].every(seen)), heads.every((text) => text.length > 2)];
    """
    count, inside, headed = run_in_page(page, tmp_path, script, width=390)
    assert count > 3
    assert inside
    assert headed


def test_choosing_a_kind_of_error_shows_its_lines_and_what_it_means(page: str, tmp_path: Path) -> None:
    script = """
    const shown = () => [...document.querySelectorAll("#mistakes tbody tr")].filter((row) => !row.hidden);
    const all = shown().length, bar = document.querySelector(".reason");
    bar.click();
    const kinds = new Set(shown().map((row) => row.dataset.reason));
    const said = document.getElementById("said").textContent;
    bar.click();
    const find = document.getElementById("find");
    find.value = "CAT";
    find.dispatchEvent(new Event("input"));
    const found = shown().map((row) => row.dataset.text);
    return [all, [...kinds], bar.dataset.reason, said, bar.title, found];
    """
    count, kinds, chosen, said, meaning, found = run_in_page(page, tmp_path, script)
    assert count > 10
    assert kinds == [chosen]
    assert said == f"{chosen}: {meaning}"
    assert 0 < len(found) < count
    assert all("cat" in text for text in found)


def test_a_comparison_stands_in_columns(page: str, tmp_path: Path) -> None:
    """The reference's symbol exactly above the output's."""
    script = """
    return [...document.querySelectorAll("#mistakes .pair.wrong")].slice(0, 20).map((pair) => {
      const [above, below] = [...pair.children].map((one) => one.getBoundingClientRect());
      return [Math.abs(above.left + above.width / 2 - below.left - below.width / 2), below.top - above.bottom];
    });
    """
    found = run_in_page(page, tmp_path, script)
    assert found
    assert all(shift < 1 and gap > -1 for shift, gap in found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_asks_for_nothing_and_follows_the_colour_scheme(page: str, tmp_path: Path, scheme: str) -> None:
    with opened(page, tmp_path, scheme=scheme) as tab:
        assert tab.requests == [(tmp_path / "page.html").as_uri()]
        ground, cell = tab.find(
            'return [document.body, document.querySelector(".heedful-map .l0")].map((one) => '
            "{ const style = getComputedStyle(one); return style.fill.startsWith('rgb') && one.matches('.l0') ? "
            "style.fill : style.backgroundColor; });"
        )
    for colour in (ground, cell):
        assert (max(map(int, re.findall(r"\d+", colour))) < 60) is (scheme == "dark")
