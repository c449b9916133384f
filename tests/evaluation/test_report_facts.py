"""The facts of a report in words: no raw keys, no long numbers, units and dates."""

import json
import re
from pathlib import Path

import pytest
from tests.evaluation.made_up import made_run
from tests.evaluation.outline import Outline

from heedful.config import to_toml
from heedful.evaluation.metrics import meaning_of, metric_names, unit_of, valued
from heedful.evaluation.report import report
from heedful.evaluation.report_facts import (
    began,
    duration,
    machine_facts,
    model_facts,
    origin_facts,
    package_facts,
    preflight_facts,
    preparation_facts,
    training_facts,
)
from heedful.evaluation.report_scores import weights_of
from heedful.recipe.recipe import load_recipe
from heedful.records.checksums import forget_checksum
from heedful.records.run import Run

PREPARED = {
    "train_pairs": 122059,
    "dev_pairs": 5964,
    "dropped": {"empty": 0, "too long": 14},
    "source_size": 33,
    "target_size": 43,
    "tokenizers": ["c4a5d99a40bdd6963f348823ae7e93f568b2dac99a1541ae18987d187e56bbe4"],
    "data_fingerprint": "4e6cc60154d988479971be8edb7abf9795804658a7cf598db5b95089bd9f520a",
}
PREFLIGHT = {
    "parameters": 1394176,
    "batches_per_epoch": 512,
    "padding_share": 0.005404381169421435,
    "shapes": {"src": [256, 8], "src_mask": [256, 8], "tgt_in": [256, 6], "tgt_out": [256, 6]},
    "loss": 5.098319053649902,
    "memory_bytes": 241672192,
    "disk_bytes": 72497152,
    "disk_free": 83012689920,
    "p_gold": [[0, 1.0], [2000, 0.5378828427399902]],
    "a_new_fact": 0.12345678901234567,
}
ENVIRONMENT = {
    "command": ["/usr/local/bin/heedful", "train", "my recipe.toml"],
    "begun_in": "../..",
    "time": "2026-12-01T00:10:45+00:00",
    "python": "CPython 3.11.7",
    "cores": 2,
    "memory_gb": 25.3,
    "git": {"commit": "a1b2c3d4e5f60718a1b2c3d4e5f60718a1b2c3d4", "changed": False},
    "packages": {"torch": "2.13.0+cpu"},
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run with everything that a real one has told."""
    made, _ = made_run(tmp_path / "demo", 0.2)
    with made:
        made.log("prepared", PREPARED)
        made.log("preflight", PREFLIGHT)
    recipe = load_recipe(None, ["preset=character", "data.catalogue=reverse"])
    (made.folder / "config.resolved.toml").write_text(to_toml(recipe))
    (made.folder / "environment.json").write_text(json.dumps(ENVIRONMENT) + "\n")
    for name in ("config.resolved.toml", "environment.json"):
        forget_checksum(made.folder, name)  # they are another run's
    return made


def told(facts: list) -> dict[str, str]:
    return {fact.label: fact.value for fact in facts}


def test_preparation(run: Run) -> None:
    found = told(preparation_facts(run))
    assert found["pairs trained on"] == "122,059"
    assert found["left out: a side is too long"] == "14 pairs"
    assert found["source vocabulary"] == "33 symbols"
    assert found["tokenizers"] == "c4a5d99a40bd", "a digest is shown by its beginning"
    assert found["fingerprint of the training data"] == "4e6cc60154d9"
    assert preparation_facts(run)[-1].exact == PREPARED["data_fingerprint"]


def test_preflight(run: Run) -> None:
    assert told(preflight_facts(run)) == {
        "parameters": "1,394,176",
        "batches an epoch": "512",
        "padding in batches": "0.5 %",
        "largest batch, source": "256 × 8 tokens",
        "largest batch, target": "256 × 6 tokens",
        "loss before training": "5.098 nats a token",
        "memory, estimated": "242 MB",
        "disk for checkpoints": "72.5 MB",
        "free disk at the start": "83 GB",
        "share of gold tokens": "1.00 at update 0, 0.54 at update 2,000",
        "a new fact": "0.1235",
    }


def test_machine(run: Run) -> None:
    assert told(machine_facts(run)) == {
        "command": "heedful train 'my recipe.toml'",
        "begun": "1 December 2026, 00:10 UTC",
        "Python": "CPython 3.11.7",
        "cores": "2",
        "memory": "25.3 GB",
        "commit of the folder": "a1b2c3d4e5f6",
        "files changed since that commit": "no",
    }
    assert told(package_facts(run)) == {"torch": "2.13.0+cpu"}
    assert began(run) == "1 December 2026"


def test_model_and_training(run: Run) -> None:
    model, training = told(model_facts(run)), told(training_facts(run))
    assert model["kind"] == "transformer"
    assert model["source tokens"] == "characters"
    assert training["seed"] == "1"
    assert training["warm-up"].endswith(" updates")


def test_named_data_say_what_they_are_and_their_licence(run: Run) -> None:
    found = told(origin_facts(run))
    assert found["data set"] == "reverse"
    assert found["licence"] == "none needed"
    assert "what it is" in found


def test_own_files_are_named(tmp_path: Path) -> None:
    config = '[data]\ntrain = ["/far/away/a.tsv"]\ndev = ["b.tsv"]\nsource_column = "2"\n'
    run = Run.create(tmp_path / "own", config, [])
    assert told(origin_facts(run)) == {"training": "a.tsv", "validation": "b.tsv", "column of the source": "2"}


def test_no_raw_keys_and_no_long_numbers(run: Run) -> None:
    """In all lists of Data and Recipe; the resolved recipe itself stands apart, as it is."""
    page = report(run)
    start, end = page.index('<section id="data"'), page.index("</main>")
    part = re.sub(r"<pre.*?</pre>", "", page[start:end], flags=re.DOTALL)
    texts = Outline(part.replace("</section>\n</main>", "</section>")).texts
    raw = [text for text in texts if re.search(r"\d\.\d{5,}|\d{6,}|[a-z]_[a-z]|True|False|None", text)]
    assert [text for text in raw if not text.startswith("Linux-")] == []


@pytest.mark.parametrize(
    ("minutes", "text"),
    [(0, "0 seconds"), (0.675, "40 seconds"), (1.0, "1.0 minutes"), (4.96, "5.0 minutes"), (192, "3.2 hours")],
)
def test_durations(minutes: float, text: str) -> None:
    assert duration(minutes) == text


@pytest.mark.parametrize(
    ("checkpoint", "text"),
    [("update-00000218", "update 218"), ("update-00012000", "update 12,000"), ("average-of-5", "average of 5")],
)
def test_checkpoints_in_words(checkpoint: str, text: str) -> None:
    assert weights_of(checkpoint) == text


def test_every_metric_is_spelt_out() -> None:
    assert len({meaning_of(name) for name in metric_names()}) == len(metric_names())
    assert meaning_of("loss") == ""
    assert valued(30.374, "wer") == "30.37\u00a0%"
    assert valued(30.374, "bleu") == "30.37"
    assert unit_of("loss") == ""
