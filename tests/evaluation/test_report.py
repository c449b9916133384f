"""The report: well-formed, asking nothing of the network, safe with any text, and true to the records."""

import re
from pathlib import Path

import pytest
from tests.evaluation.made_up import made_run
from tests.evaluation.outline import Outline

from heedful.evaluation.mistakes import REASONS
from heedful.evaluation.report import NextCommand, Picture, report, write_report
from heedful.evaluation.report_errors import errors_section, select
from heedful.records.run import Run

PICTURE = Picture("cat", "K AE T", ["K AE T"], "<svg></svg>", "Cross-attention, decoder layer 1, mean of 4 heads")
HOSTILE = '<script>alert("1")</script>&amp;\'"'


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return made_run(tmp_path / "demo", 0.2)[0]


class TestPage:
    def test_is_well_formed_and_complete(self, run: Run) -> None:
        outline = Outline(report(run, [PICTURE], [NextCommand("a b", "c")]))
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
        assert "60 lines · lower is better" in text
        assert "60 lines · higher is better" in text
        signatures = [row.signature for row in run.read_results()]
        assert set(signatures) <= set(Outline(report(run)).values("data-copy"))

    def test_rates_are_in_per_cent_and_spelt_out(self, run: Run) -> None:
        text = " ".join(Outline(report(run)).texts)
        bleu, wer = ({row.metric: row.value for row in run.read_results()}[name] for name in ("bleu", "wer"))
        assert f"{wer:.2f}\u00a0%" in text
        assert f"{bleu:.2f}\u00a0%" not in text
        assert text.count("word error rate: per cent of lines not exactly right") == 1
        assert "WER, %" in text  # over its curve

    def test_pictures_say_layer_and_head_and_mark_what_is_wrong(self, run: Run) -> None:
        wrong = PICTURE._replace(output="K AH T")
        page = report(run, [PICTURE, wrong])
        outline = Outline(page)
        assert outline.texts.count("Cross-attention, decoder layer 1, mean of 4 heads") == 2
        assert outline.texts.count("right") == 1
        assert outline.texts.count("wrong") == 1
        assert '<span class="wanted">AE</span><mark title="substitution: instead of AE">AH</mark>' in page

    def test_any_text_is_safe(self, tmp_path: Path) -> None:
        run, found = made_run(tmp_path / "demo", 0.2, count=5)
        mistake = found.errors[0]
        item = mistake.item._replace(id=HOSTILE, source=HOSTILE, references=[HOSTILE], output=HOSTILE + " x")
        run.write_errors([mistake._replace(item=item).record()])
        page = report(
            run, [Picture(HOSTILE, HOSTILE, [HOSTILE], "<svg></svg>", HOSTILE)], [NextCommand(HOSTILE, HOSTILE)]
        )
        assert page.count("<script") == 1
        assert HOSTILE in Outline(page).texts
        assert HOSTILE in Outline(page).values("data-copy")

    def test_a_run_that_has_only_begun(self, tmp_path: Path) -> None:
        run = Run.create(tmp_path / "new", '[data]\ntrain = ["here/a.en", "here/a.de"]\n', ["heedful", "train"])
        text = " ".join(Outline(report(run)).texts)
        assert "No scores yet" in text
        assert "incomplete: missing data_manifest.csv, results.csv, errors.jsonl" in text
        assert "a.en a.de · " in text
        assert "0 updates · 0 seconds of training" in text

    def test_everything_right(self, tmp_path: Path) -> None:
        run, _ = made_run(tmp_path / "demo", 0.0)
        assert "Every scored line was right." in report(run)

    def test_is_written_whole(self, run: Run) -> None:
        write_report(run, run.folder / "report.html")
        assert (run.folder / "report.html").read_text(encoding="utf-8").strip() == report(run).strip()


class TestErrors:
    def test_the_surest_mistakes_of_each_reason_are_shown(self) -> None:
        records = [{"reason": "other", "score": -i, "id": i} for i in range(100)] + [
            {"reason": "copy", "score": -500, "id": "c"}
        ]
        chosen = select(records)
        assert [record["id"] for record in chosen] == [*range(60), "c"]

    def test_counts_and_shares(self, run: Run) -> None:
        records = run.read_errors()
        text = " ".join(Outline(errors_section(records, 60)).texts)
        share = f"{100 * len(records) / 60:.1f}\u00a0%"
        assert f"{len(records)}  of 60 lines ({share}) equal none of their references" in text

    def test_every_kind_is_explained_and_filters_its_lines(self, run: Run) -> None:
        records = run.read_errors()
        outline = Outline(errors_section(records, 60))
        kinds = [value for tag, name, value in outline.attributes if (tag, name) == ("button", "data-reason")]
        rows = [value for tag, name, value in outline.attributes if (tag, name) == ("tr", "data-reason")]
        assert set(kinds) == set(rows) == {record["reason"] for record in records}
        assert {REASONS[kind] for kind in kinds} <= set(outline.values("title"))
        assert [value for tag, name, value in outline.attributes if (tag, name) == ("tr", "data-text")]

    def test_reasons_of_earlier_versions_are_told_anew(self, run: Run) -> None:
        old = [{**record, "reason": "one symbol", "reasons": ["one symbol"]} for record in run.read_errors()]
        assert errors_section(old, 60) == errors_section(run.read_errors(), 60)

    def test_measures_that_say_nothing_of_an_item_have_no_column(self, run: Run) -> None:
        table = errors_section(run.read_errors(), 60)
        assert ">BLEU</th>" in table
        assert ">WER</th>" not in table
