"""The curves of a report: where points stand, what they carry, and the numbers on their axes."""

import math
import re

import pytest
from tests.evaluation.outline import Outline

from heedful.evaluation.curves import chart_svg, charts_of, log_ticks, shown, ticks


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
        assert wer.title == "WER, %"
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
