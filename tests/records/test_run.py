"""A run directory: made once, resumed or refused, locked, and never with half a line in its log."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heedful.errors import ConfigError, HeedfulError
from heedful.records.manifest import manifest_rows
from heedful.records.outputs import Output
from heedful.records.results import Result
from heedful.records.run import Run

RECIPE = "seed = 1\n\n[training]\nmax_updates = 100\nwarmup_steps = 10\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.create(tmp_path / "a", RECIPE, ["heedful", "train", "a.toml"])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestCreate:
    def test_holds_configuration_and_environment(self, run: Run) -> None:
        assert run.config() == {"seed": 1, "training": {"max_updates": 100, "warmup_steps": 10}}
        assert run.config_text == RECIPE
        assert run.environment()["command"] == ["heedful", "train", "a.toml"]
        assert run.name == "a"

    def test_same_configuration_opens_the_same_run(self, run: Run) -> None:
        run.log("train", {"update": 1})
        again = Run.create(run.folder, RECIPE, [])
        assert again.read_log() == run.read_log()

    def test_another_configuration_is_refused_with_the_difference(self, run: Run) -> None:
        before = contents(run.folder)
        with pytest.raises(ConfigError) as raised:
            Run.create(run.folder, RECIPE.replace("100", "200").replace("warmup_steps = 10\n", ""), [])
        assert "training.max_updates: 100 -> 200" in raised.value.message
        assert "training.warmup_steps: 10 -> (not set)" in raised.value.message
        assert "nothing was changed" in (raised.value.hint or "")
        assert contents(run.folder) == before

    def test_changeable_keys_may_change_and_the_log_says_so(self, run: Run) -> None:
        Run.create(run.folder, RECIPE.replace("100", "200"), ["again"], changeable=("training.max_updates",))
        assert run.config()["training"]["max_updates"] == 200
        (line,) = run.read_log("config")
        assert line["changed"] == {"training.max_updates": {"old": 100, "new": 200}}

    def test_a_changeable_key_does_not_excuse_another(self, run: Run) -> None:
        with pytest.raises(ConfigError, match="warmup_steps"):
            Run.create(
                run.folder,
                RECIPE.replace("100", "200").replace("10\n", "20\n"),
                [],
                changeable=("training.max_updates",),
            )
        assert run.config_text == RECIPE

    def test_folder_with_something_else_is_refused_and_kept(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.txt").write_text("years of work")
        with pytest.raises(ConfigError, match=r"not empty and is no run directory \(it holds thesis.txt\)"):
            Run.create(tmp_path, RECIPE, [])
        assert contents(tmp_path) == {"thesis.txt": b"years of work"}

    def test_file_in_the_way_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(ConfigError, match="is a file, so no run can be kept there"):
            Run.create(tmp_path / "file", RECIPE, [])

    def test_creation_that_was_cut_off_is_taken_up(self, tmp_path: Path) -> None:
        """Killed before the configuration was in place: an environment and a half-written temporary file are left."""
        (tmp_path / "environment.json").write_text("{}\n")
        (tmp_path / ".writing-x").write_text("seed")
        assert Run.create(tmp_path, RECIPE, []).config_text == RECIPE

    def test_damaged_configuration_is_named(self, run: Run) -> None:
        (run.folder / "config.resolved.toml").write_text("seed = \n")
        with pytest.raises(HeedfulError, match=r"config.resolved.toml is damaged: it is not as it was written"):
            run.config()
        (run.folder / "SHA256SUMS").unlink()  # of an earlier version
        with pytest.raises(ConfigError, match=r"config.resolved.toml: Invalid value"):
            run.config()


class TestOpen:
    def test_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="has no run directory"):
            Run.open(tmp_path / "none")

    def test_folder_that_is_no_run(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"holds no config.resolved.toml") as raised:
            Run.open(tmp_path)
        assert "runs list" in (raised.value.hint or "")


class TestLock:
    def test_second_use_names_the_process(self, run: Run) -> None:
        with run, pytest.raises(HeedfulError, match=rf"in use by process {os.getpid()}\."), Run.open(run.folder):
            pass

    def test_is_free_again_afterwards(self, run: Run) -> None:
        with run:
            pass
        with run:
            run.log("again", {})

    def test_is_free_after_an_error(self, run: Run) -> None:
        with pytest.raises(ZeroDivisionError), run:
            raise ZeroDivisionError
        with Run.open(run.folder):
            pass

    def test_other_process_holds_it_until_it_is_killed(self, run: Run) -> None:
        script = (
            "import sys, time; from pathlib import Path; from heedful.records.run import Run\n"
            "with Run.open(Path(sys.argv[1])): print('locked', flush=True); time.sleep(60)"
        )
        holder = subprocess.Popen([sys.executable, "-c", script, str(run.folder)], stdout=subprocess.PIPE, text=True)
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "locked\n"
            with pytest.raises(HeedfulError, match=f"process {holder.pid}"), run:
                pass
        finally:
            holder.kill()
            holder.communicate()
        with run:
            pass


class TestLog:
    def test_lines_in_order_with_time(self, run: Run) -> None:
        run.log("train", {"update": 1, "loss": 2.5})
        run.log("validation", {"update": 1, "wer": 40.0})
        assert [line["event"] for line in run.read_log()] == ["train", "validation"]
        (line,) = run.read_log("train")
        assert line["loss"] == 2.5
        assert line["time"].endswith("+00:00")

    def test_is_on_the_disk_at_once(self, run: Run) -> None:
        run.log("train", {"update": 1})
        assert json.loads((run.folder / "log.jsonl").read_text())["update"] == 1

    def test_a_number_that_json_lacks_reads_back_by_float(self, run: Run) -> None:
        run.log("diverged", {"loss": float("nan"), "norms": [float("inf"), 1.0]})
        (line,) = run.read_log()
        assert line["loss"] == "nan"
        assert [float(norm) for norm in line["norms"]] == [float("inf"), 1.0]

    def test_line_that_a_crash_cut_off_is_dropped(self, run: Run) -> None:
        run.log("train", {"update": 1})
        with (run.folder / "log.jsonl").open("a") as file:
            file.write('{"time": "2026", "event": "tra')
        assert [line["update"] for line in run.read_log()] == [1]
        with run:
            run.log("train", {"update": 2})
        assert [line["update"] for line in run.read_log()] == [1, 2]

    def test_log_of_nothing_but_a_cut_off_line(self, run: Run) -> None:
        (run.folder / "log.jsonl").write_text("x" * 200_000)
        with run:
            run.log("train", {"update": 1})
        assert [line["update"] for line in run.read_log()] == [1]

    def test_damage_inside_is_an_error_with_its_line(self, run: Run) -> None:
        run.log("train", {"update": 1})
        with (run.folder / "log.jsonl").open("a") as file:
            file.write("no json\n")
        with pytest.raises(HeedfulError, match=r"log.jsonl:2 is no JSON"):
            run.read_log()

    def test_a_line_that_was_changed_is_named(self, run: Run) -> None:
        """At every place of a line, the first one too: its text, its checksum, and the checksum's own key."""
        for update in (1, 2, 3):
            run.log("train", {"update": update, "loss": 2.5})
        path, written = run.folder / "log.jsonl", run.read_log()
        whole = path.read_bytes()
        for place in range(len(whole)):
            for change in (1, 16):
                path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
                with pytest.raises(HeedfulError, match=r"log\.jsonl:\d is (damaged|no JSON|no event)"):
                    run.read_log()
        path.write_bytes(whole)
        assert run.read_log() == written

    def test_an_earlier_version_s_lines_have_no_checksum(self, run: Run) -> None:
        (run.folder / "log.jsonl").write_text('{"time": "2026", "event": "train", "update": 1}\n')
        run.log("train", {"update": 2})
        assert [line["update"] for line in run.read_log()] == [1, 2]
        with (run.folder / "log.jsonl").open("a") as file:
            file.write('{"time": "2026", "event": "train", "update": 3}\n')
        with pytest.raises(HeedfulError, match=r"log\.jsonl:3 is damaged"):
            run.read_log()

    def test_truncation_keeps_curves_single_valued(self, run: Run) -> None:
        run.log("prepared", {"pairs": 7})
        for update in (1, 2, 3):
            run.log("train", {"update": update})
        assert run.truncate_log(2) == 1
        assert [line.get("update") for line in run.read_log()] == [None, 1, 2]
        dropped = [json.loads(line) for line in (run.folder / "log.dropped.jsonl").read_text().splitlines()]
        assert [line["update"] for line in dropped] == [3]

    def test_truncation_of_nothing_leaves_the_file_alone(self, run: Run) -> None:
        run.log("train", {"update": 1})
        before = (run.folder / "log.jsonl").stat().st_mtime_ns
        time.sleep(0.01)
        assert run.truncate_log(1) == 0
        assert (run.folder / "log.jsonl").stat().st_mtime_ns == before


def result(metric: str, value: float, update: int = 5, split: str = "test") -> Result:
    return Result(
        "a", 1, split, metric, value, value - 1, None, 10, "data:x|y:z", "best", "beam=5,top_k=3", 0.5, update, True
    )


class TestRecords:
    def test_state_names_what_is_missing(self, run: Run) -> None:
        assert run.state() == "incomplete: missing data_manifest.csv, results.csv, errors.jsonl"
        run.write_results([])
        run.write_errors([])
        assert run.state() == "incomplete: missing data_manifest.csv"
        run.write_manifest(manifest_rows("test", [(0, ("a", "b"))]))
        assert run.state() == "complete"

    def test_results_read_back_exactly(self, run: Run) -> None:
        rows = [result("wer", 100 / 3), result("per", 0.1 + 0.2)]
        run.write_results(rows)
        assert run.read_results() == rows

    def test_added_results_replace_the_same_measurement_only(self, run: Run) -> None:
        run.write_results([result("wer", 40.0), result("per", 9.0), result("wer", 50.0, update=4)])
        run.add_results([result("wer", 39.0)])
        assert [(row.metric, row.value) for row in run.read_results()] == [("per", 9.0), ("wer", 50.0), ("wer", 39.0)]

    def test_nothing_is_read_where_nothing_is(self, run: Run) -> None:
        assert run.read_results() == []
        assert run.read_errors() == []
        assert list(run.read_manifest()) == []
        assert run.read_log() == []

    def test_errors_read_back(self, run: Run) -> None:
        run.write_errors([{"id": "test-0", "output": "größer\u2028", "score": -1.5}])
        assert run.read_errors() == [{"id": "test-0", "output": "größer\u2028", "score": -1.5}]

    def test_manifest_reads_back(self, run: Run) -> None:
        rows = list(manifest_rows("train", [(0, ("a", "b")), (1, ("c", "d"))]))
        run.write_manifest(rows)
        assert list(run.read_manifest()) == rows

    def test_outputs_read_back(self, run: Run) -> None:
        rows = [
            Output("test-0", "source", ["one", "two"], "out", -0.5),
            Output("test-1", "", [""], "", -3.0, tokenised_output="", tokenised_references=["x ."]),
        ]
        run.write_outputs("test", rows)
        assert run.read_outputs("test") == rows

    def test_missing_outputs_say_how_to_make_them(self, run: Run) -> None:
        with pytest.raises(ConfigError, match='no stored outputs of the split "dev"') as raised:
            run.read_outputs("dev")
        assert "--split dev" in (raised.value.hint or "")

    def test_folders(self, run: Run) -> None:
        assert (run.checkpoints.name, run.bundle.name, run.data.name) == ("checkpoints", "model", "data")


def test_a_run_that_is_begun_anew_tells_of_its_new_beginning(tmp_path: Path) -> None:
    Run.create(tmp_path / "a", RECIPE, ["heedful", "train", "a.toml", "wrong"])
    run = Run.create(tmp_path / "a", RECIPE.replace("100", "200"), ["heedful", "train", "a.toml"], changeable=None)
    assert run.environment()["command"] == ["heedful", "train", "a.toml"]
    assert (run.folder / "config.resolved.toml").read_text("utf-8").strip() == RECIPE.replace("100", "200").strip()
