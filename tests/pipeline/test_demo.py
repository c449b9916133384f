"""The demonstration: made for the time there is, resumed after an interruption, shown again when it is done."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.dictionary import shrink_demo
from tests.pipeline.little import little_run

from heedful.errors import ConfigError, Interrupted
from heedful.pipeline.demo import demo, demo_recipe
from heedful.pipeline.train import silent
from heedful.records.run import Run

LONG = 100.0  # minutes, which sixty updates do not take on any machine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shrink_demo(tmp_path / "dictionary", monkeypatch)
    return tmp_path / "demo"


def test_recipe_fits_the_time(folder: Path) -> None:
    training = demo_recipe(2.0).training
    assert (training.max_minutes, training.max_updates, training.warmup_steps) == (2.0, 60, 6)
    assert (training.validate_every, training.precision) == (10, "float32")


def test_interrupted_then_finished_then_shown(folder: Path) -> None:
    def interrupting(event: str, facts: Mapping[str, Any]) -> None:
        if event == "train" and facts["update"] == 20:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="Stopped after update 20"):
        demo(folder, LONG, [], interrupting)
    first = demo(folder, LONG, [], silent)
    assert first.trained_now
    assert Run.open(folder).state() == "complete"
    assert [event["update"] for event in Run.open(folder).read_log("train")] == [10, 20, 30, 40, 50, 60]
    again = demo(folder, LONG, [], silent)
    assert not again.trained_now
    assert again.results == first.results
    assert again.training_seconds == first.training_seconds


def test_what_is_shown(folder: Path) -> None:
    found = demo(folder, LONG, [], silent)
    outputs = {item.source: item for item in Run.open(folder).read_outputs("test")}
    assert len(found.words) == min(10, len(outputs))
    for word in found.words:
        assert word.references == outputs[word.word].references
        assert word.found.text == word.found.n_best[0].text == outputs[word.word].output
        assert len(word.found.n_best) == 3
        assert not any(digit in word.found.text for digit in "012")
    assert [row.metric for row in found.results] == ["wer", "per"]
    assert {row.n for row in found.results} == {len(outputs)}
    page = found.report.read_text()
    for text in ("<svg", str(found.next_commands[0].command.split("|")[0].strip())):
        assert text in page


def test_time_is_respected(folder: Path) -> None:
    found = demo(folder, 0.0000001, [], silent)
    assert Run.open(folder).read_log("ended")[-1]["reason"] == "max_minutes"
    assert Run.open(folder).read_log("ended")[-1]["update"] == 1
    assert found.report.is_file()


def test_directory_of_another_run(folder: Path, tmp_path: Path) -> None:
    other = little_run(tmp_path / "other")
    with pytest.raises(ConfigError, match="holds a run of another recipe") as caught:
        demo(other, LONG, [], silent)
    assert "--run" in str(caught.value.hint)
    assert not (other / "report.html").exists()
