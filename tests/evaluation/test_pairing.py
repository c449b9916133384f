"""Runs side by side: what may be compared, what is refused, and that no number outlives its outputs."""

from pathlib import Path

import pytest
from tests.evaluation.made_up import made_run

from heedful.errors import CheckFailed, ConfigError, HeedfulError
from heedful.evaluation.metrics import metrics_for
from heedful.evaluation.pairing import compare_runs
from heedful.evaluation.score import measure
from heedful.evaluation.significance import paired_bootstrap, paired_randomisation
from heedful.records.compare import (
    align_results,
    config_differences,
    environment_differences,
    find_runs,
    last_results,
    signature_of,
    summarise,
)
from heedful.records.run import Run


@pytest.fixture
def pair(tmp_path: Path) -> list[Run]:
    return [made_run(tmp_path / "worse", 0.3)[0], made_run(tmp_path / "better", 0.1, seed=2)[0]]


class TestCompareRuns:
    def test_agrees_with_the_tests_on_the_outputs(self, pair: list[Run]) -> None:
        found = {row.metric: row for row in compare_runs(pair, "test", 200, 1)}
        assert list(found) == ["bleu", "wer"]
        for name, row in found.items():
            (metric,) = metrics_for([name])
            statistics = [
                measure(
                    metric,
                    [o.output for o in run.read_outputs("test")],
                    [o.references for o in run.read_outputs("test")],
                )
                for run in pair
            ]
            assert row.comparison == paired_bootstrap(metric, *statistics, samples=200, seed=1)
            assert row.p_randomisation == paired_randomisation(metric, *statistics, samples=200, seed=1)
            assert row.comparison.delta == pytest.approx(row.run.value - row.baseline.value)
        assert found["bleu"].comparison.delta > 0
        assert found["wer"].comparison.delta < 0

    def test_wins_follow_the_direction_of_the_metric(self, pair: list[Run]) -> None:
        row = next(row for row in compare_runs(pair, "test", 10, 1) if row.metric == "wer")
        wrong = [{o.id for o in run.read_outputs("test") if o.output != o.references[0]} for run in pair]
        assert (row.wins, row.losses) == (len(wrong[0] - wrong[1]), len(wrong[1] - wrong[0]))
        assert row.wins > row.losses
        assert row.wins + row.losses + row.ties == 60

    def test_several_runs_against_the_first(self, pair: list[Run], tmp_path: Path) -> None:
        third = made_run(tmp_path / "third", 0.5)[0]
        rows = compare_runs([*pair, third], "test", 10, 1)
        assert [(row.metric, row.run.run) for row in rows] == [
            ("bleu", "better"),
            ("bleu", "third"),
            ("wer", "better"),
            ("wer", "third"),
        ]
        assert {row.baseline.run for row in rows} == {"worse"}

    def test_metrics_that_only_one_has_are_left_out(self, pair: list[Run], tmp_path: Path) -> None:
        other = made_run(tmp_path / "other", 0.2, metrics=("wer", "cer"))[0]
        assert {row.metric for row in compare_runs([pair[0], other], "test", 10, 1)} == {"wer"}

    def test_one_run_alone(self, pair: list[Run]) -> None:
        with pytest.raises(ValueError, match="`runs` must hold at least 2 runs, but holds 1"):
            compare_runs(pair[:1], "test", 10, 1)

    def test_other_data_is_refused(self, pair: list[Run], tmp_path: Path) -> None:
        other = made_run(tmp_path / "other", 0.2, data_seed=9)[0]
        with pytest.raises(CheckFailed, match="cannot be compared: different data in the split test") as raised:
            compare_runs([pair[0], other], "test", 10, 1)
        assert raised.value.exit_code == 3
        assert "Evaluate both on the same files" in (raised.value.hint or "")

    def test_other_counting_is_refused(self, pair: list[Run]) -> None:
        rows = pair[1].read_results()
        pair[1].write_results(row._replace(signature=row.signature.replace("case:mixed", "case:lc")) for row in rows)
        with pytest.raises(CheckFailed, match="bleu counted differently"):
            compare_runs(pair, "test", 10, 1)

    def test_nothing_in_common_is_refused(self, pair: list[Run], tmp_path: Path) -> None:
        other = made_run(tmp_path / "other", 0.2, metrics=("cer",))[0]
        with pytest.raises(CheckFailed, match="no metric in common on test"):
            compare_runs([pair[0], other], "test", 10, 1)

    def test_a_score_that_the_outputs_do_not_give_is_refused(self, pair: list[Run]) -> None:
        rows = pair[1].read_results()
        pair[1].write_results(row._replace(value=row.value + 0.5) for row in rows)
        with pytest.raises(
            CheckFailed, match=r"The bleu of .*better on test is .* in results.csv, but .* by the stored"
        ):
            compare_runs(pair, "test", 10, 1)

    def test_outputs_of_other_data_are_refused(self, pair: list[Run], tmp_path: Path) -> None:
        other = made_run(tmp_path / "other", 0.2, data_seed=9)[0]
        pair[1].write_outputs("test", other.read_outputs("test"))
        with pytest.raises(CheckFailed, match="are not of the data of its results"):
            compare_runs(pair, "test", 10, 1)

    def test_split_without_results(self, pair: list[Run]) -> None:
        with pytest.raises(ConfigError, match='has no results on the split "dev"') as raised:
            compare_runs(pair, "dev", 10, 1)
        assert "--split dev" in (raised.value.hint or "")

    def test_signature_that_cannot_be_read(self, pair: list[Run]) -> None:
        (row, *_) = pair[0].read_results()
        with pytest.raises(HeedfulError, match="The bleu of run worse on test carries no signature"):
            signature_of(row._replace(signature="BLEU"))


class TestSummaries:
    def test_runs_are_found_below_a_folder(self, pair: list[Run], tmp_path: Path) -> None:
        deep = made_run(tmp_path / "group" / "deep", 0.2)[0]
        (tmp_path / ".hidden").mkdir()
        (pair[0].folder / "model").mkdir()
        assert [run.folder for run in find_runs(tmp_path)] == [pair[1].folder, deep.folder, pair[0].folder]
        assert [run.folder for run in find_runs(deep.folder)] == [deep.folder]

    def test_no_such_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="There is no folder"):
            find_runs(tmp_path / "none")

    def test_summary(self, pair: list[Run]) -> None:
        found = summarise(pair[0])
        assert (found.run, found.state, found.update, found.minutes, found.split) == (
            "worse",
            "complete",
            30,
            3.0,
            "test",
        )
        assert [row.metric for row in found.results] == ["bleu", "wer"]

    def test_summary_of_a_run_that_has_nothing_yet(self, tmp_path: Path) -> None:
        found = summarise(Run.create(tmp_path / "new", "seed = 1\n", []))
        assert (found.update, found.minutes, found.split, found.results) == (0, 0.0, None, [])

    def test_the_newest_row_of_a_metric_counts(self, pair: list[Run]) -> None:
        newer = [row._replace(decode="beam=1", value=1.0) for row in pair[0].read_results() if row.metric == "wer"]
        pair[0].add_results(newer)
        assert {row.metric: row.decode for row in last_results(pair[0], "test")} == {"bleu": "beam=5", "wer": "beam=1"}

    def test_aligned_rows(self, pair: list[Run]) -> None:
        assert [(metric, [row.run for row in rows]) for metric, rows in align_results(pair, "test")] == [
            ("bleu", ["worse", "better"]),
            ("wer", ["worse", "better"]),
        ]

    def test_configurations(self, pair: list[Run]) -> None:
        assert config_differences(*pair) == [("seed", 1, 2)]

    def test_environments(self, pair: list[Run]) -> None:
        assert environment_differences(*pair) == []
        path = pair[1].folder / "environment.json"
        path.write_text(path.read_text().replace('"cores": ', '"cores": 9'))
        (pair[1].folder / "SHA256SUMS").unlink()  # as of an earlier version: what was changed by hand is not found
        ((key, left, right),) = environment_differences(*pair)
        assert (key, right) == ("cores", int(f"9{left}"))
