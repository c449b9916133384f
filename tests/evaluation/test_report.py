"""The report: well-formed, asking nothing of the network, safe with any text, and true to the records."""

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.evaluation.made_up import made_run

from heedful.evaluation.curves import chart_svg, charts_of, log_ticks, shown, ticks
from heedful.evaluation.report import NextCommand, Picture, report, write_report
from heedful.evaluation.report_errors import errors_section, marked, select
from heedful.records.run import Run

VOID = {"meta", "input", "wbr", "br", "line", "circle", "polyline", "path"}
HOSTILE = '<script>alert("1")</script>&amp;\'"'


class Outline(HTMLParser):
    """Checks that every element is closed in order, and collects ids, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    def values(self, name: str) -> list[str | None]:
        return [value for _, attribute, value in self.attributes if attribute == name]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return made_run(tmp_path / "demo", 0.2)[0]


class TestPage:
    def test_is_well_formed_and_complete(self, run: Run) -> None:
        outline = Outline(
            report(run, [Picture("cat", "<svg></svg>", "wrote K AE T", right=True)], [NextCommand("a b", "c")])
        )
        sections = ["scores", "curves", "attention", "errors", "data", "recipe", "next"]
        assert [value for tag, name, value in outline.attributes if (tag, name) == ("section", "id")] == sections
        assert [value for tag, name, value in outline.attributes if (tag, name) == ("a", "href")] == [
            f"#{s}" for s in sections
        ]
        ids = outline.values("id")
        assert len(ids) == len(set(ids))

    def test_asks_nothing_of_the_network(self, run: Run) -> None:
        page = report(run)
        outline = Outline(page)
        assert not any(name in ("src", "srcset", "action") for _, name, _ in outline.attributes)
        assert all(value and value.startswith("#") for tag, name, value in outline.attributes if name == "href")
        assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|https?://", page)
        (policy,) = (value for value in outline.values("content") if value and "default-src" in value)
        assert policy.startswith("default-src 'none'")

    def test_shows_the_scores_with_interval_count_and_signature(self, run: Run) -> None:
        text = " ".join(Outline(report(run)).texts)
        for row in run.read_results():
            assert f"{row.value:.2f}" in text
            assert f"{row.ci_low:.2f} – {row.ci_high:.2f}" in text
        assert "n = 60 · lower is better" in text
        assert "n = 60 · higher is better" in text
        signatures = [row.signature for row in run.read_results()]
        assert set(signatures) <= set(Outline(report(run)).values("data-copy"))

    def test_any_text_is_safe(self, tmp_path: Path) -> None:
        run, found = made_run(tmp_path / "demo", 0.2, count=5)
        mistake = found.errors[0]
        item = mistake.item._replace(id=HOSTILE, source=HOSTILE, references=[HOSTILE], output=HOSTILE + " x")
        run.write_errors([mistake._replace(item=item).record()])
        page = report(run, [Picture(HOSTILE, "<svg></svg>", HOSTILE)], [NextCommand(HOSTILE, HOSTILE)])
        assert page.count("<script") == 1
        assert HOSTILE in Outline(page).texts
        assert HOSTILE in Outline(page).values("data-copy")

    def test_a_run_that_has_only_begun(self, tmp_path: Path) -> None:
        run = Run.create(tmp_path / "new", '[data]\ntrain = ["here/a.en", "here/a.de"]\n', ["heedful", "train"])
        text = " ".join(Outline(report(run)).texts)
        assert "No scores yet" in text
        assert "incomplete: missing data_manifest.csv, results.csv, errors.jsonl" in text
        assert "a.en a.de · 0 updates" in text

    def test_everything_right(self, tmp_path: Path) -> None:
        run, _ = made_run(tmp_path / "demo", 0.0)
        assert "Every scored item was right." in report(run)

    def test_is_written_whole(self, run: Run) -> None:
        write_report(run, run.folder / "report.html")
        assert (run.folder / "report.html").read_text(encoding="utf-8").strip() == report(run).strip()


class TestErrors:
    def test_marks(self) -> None:
        assert marked("K AH T", ["K AE T"]) == 'K <mark title="instead of AE">AH</mark> T'
        assert marked("K AE T S", ["K AE T"]) == 'K AE T <mark title="too much">S</mark>'
        assert marked("K T", ["K AE T"]) == 'K <span class="gap" title="missing: AE">·</span> T'
        assert marked("gesehn", ["gesehen"]) == 'geseh<span class="gap" title="missing: e">·</span>n'
        assert marked("A B", ["X Y", "A B"]) == "A B"

    def test_the_surest_mistakes_of_each_reason_are_shown(self) -> None:
        records = [{"reason": "other", "score": -i, "id": i} for i in range(100)] + [
            {"reason": "copy", "score": -500, "id": "c"}
        ]
        chosen = select(records)
        assert [record["id"] for record in chosen] == [*range(60), "c"]

    def test_counts_and_shares(self, run: Run) -> None:
        records = run.read_errors()
        text = " ".join(Outline(errors_section(records, 60)).texts)
        assert f"of 60 ({100 * len(records) / 60:.1f} %) equal none of their references" in text.replace("  ", " ")

    def test_measures_that_say_nothing_of_an_item_have_no_column(self, run: Run) -> None:
        table = errors_section(run.read_errors(), 60)
        assert ">BLEU</th>" in table
        assert ">WER</th>" not in table


def entry(event: str, update: int, **values: float) -> dict[str, object]:
    return {"event": event, "update": update, "seconds": 3.0 * update, "time": "t", **values}


class TestCurves:
    LOG = (
        {"event": "prepared", "train_pairs": 5, "time": "t"},
        entry("train", 10, learning_rate=0.1, loss=3.0),
        entry("train", 20, learning_rate=0.2, loss=2.0),
        entry("validation", 20, best=True, loss=2.5, wer=50.0, perplexity=12.0, validation_seconds=1.0, sentences=500),
        entry("train", 30, learning_rate=0.3, loss=float("nan")),
        entry("validation", 30, best=False, loss=2.6, wer=51.0, perplexity=13.0, validation_seconds=1.0),
    )

    def test_charts(self) -> None:
        charts = charts_of(self.LOG)
        assert [chart.name for chart in charts] == ["loss", "perplexity", "wer", "learning_rate"]
        loss, _, wer, rate = charts
        assert [line.kind for line in loss.lines] == ["train", "validation"]
        assert loss.lines[0] == ("train", [10, 20], [0.5, 1.0], [3.0, 2.0])
        assert wer.title == "WER"
        assert wer.chosen == 20
        assert rate.chosen is None

    def test_points_stand_where_their_values_are(self) -> None:
        """Equal steps in value are equal steps on the axes, upwards for larger values."""
        log = [entry("validation", update, wer=value) for update, value in ((0, 10.0), (50, 20.0), (100, 30.0))]
        svg = chart_svg(charts_of(log)[0], "updates")
        (points,) = re.findall(r'points="([^"]+)"', svg)
        (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in points.split(" "))
        assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
        assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11)
        assert y0 > y1 > y2

    @pytest.mark.parametrize("over", ["updates", "minutes"])
    def test_is_well_formed_and_carries_its_values(self, over: str) -> None:
        for chart in charts_of(self.LOG):
            outline = Outline(chart_svg(chart, over))
            assert outline.values("data-values") == [" ".join(f"{v:.6g}" for v in line.values) for line in chart.lines]
            assert not any("nan" in (value or "") for _, _, value in outline.attributes)

    def test_a_single_point_is_drawn(self) -> None:
        (chart,) = charts_of([entry("train", 10, loss=0.0)])
        assert 'class="dot train"' in chart_svg(chart, "updates")

    def test_long_lines_are_thinned_but_keep_their_ends(self) -> None:
        (chart,) = charts_of([entry("train", update, loss=1 / update) for update in range(1, 5001)])
        (places,) = re.findall(r'data-at="([^"]+)"', chart_svg(chart, "updates"))
        assert len(places.split()) == 400
        assert (places.split()[0], places.split()[-1]) == ("1", "5000")

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0, "0"),
            (0.5, "0.5"),
            (4000.0, "4,000"),
            (0.00044721, "0.0004472"),
            (1.23e-7, "1.2e-07"),
            (2.5e6, "2.5e+06"),
            (99.999, "100"),
        ],
    )
    def test_labels(self, value: float, text: str) -> None:
        assert shown(value) == text

    @pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 4000), (35.2, 58.9), (0, 1e-3), (-3, 2), (0.31, 0.32)])
    def test_ticks_are_round_and_inside(self, low: float, high: float) -> None:
        found = ticks(low, high)
        assert 3 <= len(found) <= 7
        assert all(low - 1e-12 <= tick <= high + 1e-12 for tick in found)
        step = found[1] - found[0]
        assert round(step / 10 ** math.floor(math.log10(step) + 1e-9), 6) in (1, 2, 5)

    def test_logarithmic_ticks(self) -> None:
        assert log_ticks(1.5, 30) == [2, 5, 10, 20]
        assert log_ticks(1, 1e6) == [10.0**power for power in range(7)]
        assert log_ticks(1.21, 1.39) == ticks(1.21, 1.39)
