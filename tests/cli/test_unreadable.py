"""What is there and may not be read is an error with exit code 1, whichever verb was to read it (docs/house.md)."""

import os
from pathlib import Path

import pytest
from tests.pipeline.little import little_run
from tests.pipeline.test_refused_writing import an_ordinary_user, in_a_process

CASES = [
    ("text", "translate run text"),
    ("text", "score run text targets"),
    ("targets", "score run text targets"),
    ("pairs.tsv", "align run pairs.tsv"),
    ("gold", "align run pairs.tsv --gold gold"),
    ("targets", "evaluate run --source text --reference targets"),
    ("pairs.tsv", "data stats pairs.tsv"),
    ("pairs.tsv", "data split pairs.tsv --out out --dev 1 --test 1"),
    ("pairs.tsv", "init --train pairs.tsv --dev pairs.tsv --output new.toml"),
    ("recipe.toml", "train recipe.toml"),
    ("recipe.toml", "config show recipe.toml"),
    ("text", "export run out --to ctranslate2 --dev text"),
    ("run/model/model.safetensors", "translate run text"),
    ("run/model/bundle.toml", "translate run text"),
    ("run/model/SHA256SUMS", "translate run text"),
    ("run/model/tokenizer.joint.vocab", "evaluate run"),
    ("run/model", "translate run text"),
    ("run", "runs show run"),
    ("run/config.resolved.toml", "train --resume run"),
    ("run/results.csv", "runs show run"),
    ("run/log.jsonl", "runs show run"),
    ("run/outputs/test.jsonl", "compare run run"),
    ("run/checkpoints/last", "train --resume run"),
    ("run/checkpoints/update-00000002/model.safetensors", "train --resume run"),
    ("run/data/train/pairs.arrow", "shortlist run"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    little_run(place)
    texts = {"text": "a b\n", "targets": "b a\n", "pairs.tsv": "a b\tb a\nc\tc\nd\td\n", "gold": "0-1 1-0\n"}
    texts["recipe.toml"] = 'preset = "character"\n[data]\ntrain = ["pairs.tsv"]\ndev = ["pairs.tsv"]\n'
    for name, text in texts.items():
        (place / name).write_text(text)
    return place


@pytest.mark.parametrize(("name", "command"), CASES)
def test_is_no_missing_file_and_no_wrong_usage(
    name: str, command: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    path = place / name
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        outcome = in_a_process(command.split(), an_ordinary_user)
    finally:
        path.chmod(mode)
    assert outcome.code == 1, outcome.err
    assert "Permission denied" in outcome.err
    assert name in outcome.err
    assert outcome.err.splitlines()[-1].startswith("hint: "), outcome.err
    assert os.access(path, os.R_OK)
