"""The page's looks in chromium: directions of reading, what is said, and how it fits windows of several widths."""

import re
from pathlib import Path

import pytest
from tests.inspection.browser import opened, run_in_page
from tests.inspection.made_up import CJK, RTL, WORD, made_up

from heedful.inspection.page import page
from heedful.trace import Trace

PAGE = page([WORD, CJK, RTL], "three sentences")


class TestRightToLeft:
    """An Arabic name and its Latin letters; Arabic and Hebrew words."""

    NAME = made_up(list("محمد"), list("muhammad"), seed=3)._replace(source_text="محمد", output_text="muhammad")
    BOXES = """
    const boxes = (chosen) => Array.from(document.querySelectorAll(chosen), (one) => one.getBoundingClientRect());
    const middles = (chosen) => boxes(chosen).map((box) => box.left + box.width / 2);
    """

    def test_each_line_runs_in_its_own_direction(self, tmp_path: Path) -> None:
        script = f"""{self.BOXES}
        return ["read", "query"].map((id) => [document.getElementById(id).dir, middles(`#${{id}} .token`)]);
        """
        (source, first), (output, second) = run_in_page(page([self.NAME], ""), tmp_path, script)
        assert (source, output) == ("rtl", "ltr")
        assert first == sorted(first, reverse=True)
        assert second == sorted(second)

    @pytest.mark.parametrize("width", [390, 768, 1280, 1920])
    def test_ribbons_are_steep(self, tmp_path: Path, width: int) -> None:
        """Both lines stand over each other, so a ribbon from middle to middle goes straight down."""
        script = f"""{self.BOXES}
        const centre = (id) => {{
          const all = boxes(`#${{id}} .token`);
          return (Math.min(...all.map((b) => b.left)) + Math.max(...all.map((b) => b.right))) / 2;
        }};
        const gap = boxes("#query .token")[0].top - boxes("#read .token")[0].bottom;
        return [centre("read"), centre("query"), gap];
        """
        above, below, gap = run_in_page(page([self.NAME], ""), tmp_path, script, width=width)
        assert abs(above - below) < 2
        assert gap > 50

    def test_the_columns_of_the_map_begin_at_the_right_and_their_letters_stand_upright(self, tmp_path: Path) -> None:
        script = f"""{self.BOXES}
        const turned = document.querySelectorAll("#columns .slant").length;
        const rows = boxes("#rows .label")[0], cells = boxes("#cells")[0];
        return [middles("#columns .label"), turned, rows.left >= cells.right - 1];
        """
        found, turned, rows_at_the_right = run_in_page(page([self.NAME], ""), tmp_path, script)
        assert found == sorted(found, reverse=True)
        assert turned <= 1  # the sign of the end, which is wider than a letter
        assert rows_at_the_right

    def test_cells_are_drawn_and_found_under_their_labels(self, tmp_path: Path) -> None:
        script = """
        const found = [];
        const context = document.getElementById("cells").getContext("2d");
        for (const label of document.querySelectorAll("#columns .label")) {
          const [box, cells] = [label, document.getElementById("cells")].map((one) => one.getBoundingClientRect());
          const [clientX, clientY] = [box.left + box.width / 2, cells.top + 2];
          const pixel = context.getImageData(clientX - cells.left, 3, 1, 1).data;
          found.push([cellAt({ clientX, clientY }).column, [...pixel].slice(0, 3)]);
        }
        return [found, Array.from(lineOf(now.matrix, "row", 0), (entry) => shade(now.look.scale, entry.weight))];
        """
        found, colours = run_in_page(page([self.NAME], ""), tmp_path, script)
        assert [column for column, _ in found] == list(range(len(self.NAME.source)))
        assert [colour for _, colour in found] == colours

    def test_the_arrow_of_a_row_still_points_from_consumed_to_predicted(self, tmp_path: Path) -> None:
        script = """
        return Array.from(document.querySelectorAll("#rows .label, #table tbody th"), (label) =>
          Array.from(label.querySelectorAll("bdi"), (piece) => piece.getBoundingClientRect().left));
        """
        for trace in (self.NAME, RTL):
            places = run_in_page(page([trace], ""), tmp_path, script, width=1920)  # wide enough for one line each
            assert len(places) == 2 * len(trace.predicted)
            assert all(before < after for before, after in places)

    def test_the_arrow_keys_go_where_they_point(self, tmp_path: Path) -> None:
        script = """
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
        return location.hash;
        """
        found = run_in_page(page([self.NAME], ""), tmp_path, script, "#map=decoder.1.cross&row=1&column=1")
        assert found.endswith("&row=1&column=2")

    def test_words_rise_to_the_left(self, tmp_path: Path) -> None:
        script = """
        const spans = Array.from(document.querySelectorAll("#columns .slant > span"));
        return [spans.length, spans.map((span) => {
          const box = span.getBoundingClientRect(), cell = span.parentElement.getBoundingClientRect();
          return box.left + box.width / 2 < cell.left + cell.width / 2;
        })];
        """
        long = made_up(["الطاولة"] * 14, ["a"] * 14)
        count, to_the_left = run_in_page(page([long], ""), tmp_path, script, width=500)
        assert count == 15
        assert all(to_the_left)


class TestWhatIsSaid:
    TOLD = WORD._replace(source_text="heedful", output_text="HH IY D F AH L")

    def test_the_title_is_the_sentence_and_the_model_stands_below(self, tmp_path: Path) -> None:
        script = """
        const text = (id) => document.getElementById(id).textContent;
        return [document.title, text("title"), text("output-text"), text("score")];
        """
        two = page(
            [self.TOLD, CJK._replace(source_text="今日は天気がいい", output_text="The weather is nice today")], "runs/a"
        )
        title, heading, output, score = run_in_page(two, tmp_path, script)
        assert title == "heedful · attention"
        assert heading == "heedful"
        assert output == "HH IY D F AH L"
        total = sum(WORD.log_p)
        assert score == (
            f"log-probability −{-total:.3f}, −{-total / len(WORD.log_p):.3f} a token · model runs/a".replace(
                "-", "−"
            ).replace("log−probability", "log-probability")
        )
        assert run_in_page(two, tmp_path, script, "#trace=1")[:2] == [
            "今日は天気がいい · attention",
            "今日は天気がいい",
        ]

    def test_a_trace_without_texts_is_headed_by_its_pieces(self, tmp_path: Path) -> None:
        script = (
            "return [document.getElementById('title').textContent, document.getElementById('output-text').textContent];"
        )
        assert run_in_page(page([CJK], ""), tmp_path, script) == ["今日は天気がいい", "The weather is nice today"]

    @pytest.mark.parametrize(
        ("kind", "bars"), [("decoder.1.cross", True), ("decoder.1.self", True), ("encoder.1.self", False)]
    )
    def test_terms_are_explained_where_they_stand(self, tmp_path: Path, kind: str, bars: bool) -> None:
        script = """
        const text = (id) => document.getElementById(id).textContent;
        return [text("legend"), text("map-note"), text("kind-note"), text("read-name") + text("query-name"),
          document.querySelectorAll("#query .token .p").length, document.getElementById("scale").offsetWidth];
        """
        legend, note, kind_note, names, shown, scale = run_in_page(PAGE, tmp_path, script, f"#map={kind}")
        assert "a ribbon is a large attention weight" in legend
        assert ("the bar below a token is its probability" in legend) is bars is (shown > 0)
        assert "Rows: " in note
        assert "Columns: " in note
        assert "attends to" in kind_note
        assert "(keys)" in names
        assert "(queries)" in names
        assert scale >= 60


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("length", [7, 60])
def test_the_page_never_scrolls_sideways(tmp_path: Path, width: int, length: int) -> None:
    trace = made_up([f"▁word{i}" for i in range(length)], [f"▁Wort{i}" for i in range(length)], n_heads=8, n_layers=3)
    script = """
    const fits = (chosen) => document.querySelector(chosen).scrollWidth <= document.querySelector(chosen).clientWidth;
    return [document.documentElement.scrollWidth <= innerWidth, fits(".grid-scroll"), fits("#heat")];
    """
    sideways, heads_fit, map_fits = run_in_page(
        page([trace], "a long title of a model " * 3), tmp_path, script, width=width
    )
    assert sideways
    assert heads_fit
    assert map_fits or length == 60  # a long sentence's map scrolls within its own frame


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_asks_for_nothing_but_itself(tmp_path: Path, scheme: str) -> None:
    with opened(PAGE, tmp_path, scheme=scheme) as tab:
        assert [url for url in tab.requests if not url.startswith("data:")] == [(tmp_path / "page.html").as_uri()]
        ground = tab.find("return getComputedStyle(document.body).backgroundColor;")
    assert (max(map(int, re.findall(r"\d+", ground))) < 60) is (scheme == "dark")


@pytest.mark.parametrize("width", [1280, 1920])
@pytest.mark.parametrize("trace", [WORD, RTL], ids=["word", "rtl"])
def test_a_short_sentence_fills_the_window_and_its_buttons_stand_in_one_line(
    tmp_path: Path, trace: Trace, width: int
) -> None:
    script = """
    const box = (id) => document.getElementById(id).getBoundingClientRect();
    const tops = (chosen) => Array.from(document.querySelectorAll(chosen), (one) => one.getBoundingClientRect().top);
    const [cells, map] = [box("cells"), box("map")];
    return {
      buttons: ["#kinds button", ".buttons button, .scale"].map(tops).map((one) => Math.max(...one) - Math.min(...one)),
      map: [map.bottom / innerHeight, cells.height / map.height],
    };
    """
    found = run_in_page(page([trace], "runs/a"), tmp_path, script, width=width)
    assert all(difference < 12 for difference in found["buttons"])
    bottom, share = found["map"]
    assert 0.85 < bottom <= 1
    assert share > 0.4


def test_numbers_in_cells_and_bars_stay_within_their_frames(tmp_path: Path) -> None:
    script = """
    const sticks = (one) => one.scrollWidth > one.clientWidth + 1;
    const frames = ["#detail .table-scroll", "#choice", "#map", "#sentence", "header"];
    return frames.filter((chosen) => sticks(document.querySelector(chosen)));
    """
    for width in (390, 768, 1280, 1920):
        assert run_in_page(PAGE, tmp_path, script, "#row=2", width=width) == []
