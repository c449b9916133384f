"""The exit code says whose turn it is, by one rule for all verbs (docs/house.md), walked case by case.

0: it was done. 2: what was asked for cannot be: an option, a key or a value is wrong, or what was named is not there or
of another kind. 1: what was named is there, and damaged or not ready. 3: a check found something.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import QUICK, little_run, little_settings

OURS = "error: "


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one of everything that a case may name; the cases change nothing in it."""
    place = tmp_path_factory.mktemp("place")
    run = little_run(place)
    shutil.copytree(run, place / "other")
    (place / "other" / "SHA256SUMS").unlink()  # as of an earlier version: what was changed by hand is not found
    rows = [json.loads(line) for line in (run / "outputs" / "test.jsonl").read_text().splitlines()]
    changed = "".join(json.dumps({**row, "references": ["other"]}) + "\n" for row in rows)
    (place / "other" / "outputs" / "test.jsonl").write_text(changed)
    results = place / "other" / "results.csv"
    results.write_text(results.read_text().replace("data:", "data:0"))
    (place / "unfinished").mkdir()
    shutil.copy(run / "config.resolved.toml", place / "unfinished")
    shutil.copytree(run / "model", place / "damaged")
    (place / "damaged" / "model.safetensors").write_bytes(b"half")
    shutil.copytree(run / "model", place / "alone")
    (place / "export").mkdir()
    (place / "export" / "export.toml").write_text('format = 1\ntarget = "ctranslate2"\ntype = "float32"\n')
    (place / "empty").mkdir()
    for name, text in {
        "text": "a b\nb\n",
        "targets": "b a\nb\n",
        "short": "b\n",
        "blank": "\n",
        "pairs.tsv": "a b\tb a\nb\tb\n",
        "odd.tsv": "a b\tb a\nb\n",
        "gold": "0-1 1-0\nx\n",
        "bad.jsonl": "{}\n",
        "plain.gz": "a\n",
        "recipe.toml": "seed = \n",
        "keys.toml": "sed = 1\n",
    }.items():
        (place / name).write_text(text)
    return place


OPTIONS = [
    "translate run text --engine marian",
    "translate run text --type int3",
    "translate run text --engine ctranslate2 --type int3",
    "translate run text --beam 0",
    "translate run text --n-best 5 --beam 2",
    "translate run text --temperature 0",
    "translate run text --top-k 3",
    "translate run text --input-format xml",
    "translate run text --shortlist",
    "translate run text --engine ctranslate2 --shortlist",
    "translate run text --engine onnx --shortlist",
    "translate run text --engine onnx --ensemble alone",
    "translate export text --ensemble alone",
    "translate export text --engine onnx",
    "translate export text --type int8",
    "translate run text --ensemble-mean geometric",
    "translate run text --ensemble alone --ensemble-mean harmonic",
    "evaluate run model.d_model=32",
    "evaluate run search.baem=2",
    "evaluate run search.shortlist=true",
    "evaluate run --split final",
    "evaluate run --source text",
    "evaluate run --engine marian",
    "score run - -",
    "score run text targets --ensemble-mean geometric",
    "align run pairs.tsv --layer 9",
    "exposure run --error-at 0",
    "exposure run --split nowhere",
    "data taxonomy run/config.resolved.toml --split nowhere",
    "align run pairs.tsv --head 9",
    "align run pairs.tsv --head none",
    "inspect run a --layer 9",
    "inspect run a --head 9",
    "inspect run a b --svg figure.svg",
    "inspect run a --svg figure.png",
    "export run out --to nowhere",
    "export run out --to ctranslate2 --type int3",
    "export alone out --to ctranslate2",
    "average run --last 9",
    "average run --last -1",
    "shortlist run --k 0",
    "compare run",
    "compare run other --split dev",
    "config show recipe.toml",
    "config show keys.toml",
    "config show multi30k-tiny sed=1",
    "config table3 --vocab-size 3",
    "data get multi30",
    "data get copy --from empty",
    "data split pairs.tsv --out out --dev 0 --test 0",
    "data split pairs.tsv --out out --dev 5 --test 5",
    "data check pairs.tsv --source-column one --target-column two",
    "data stats text",
    "init --preset paperbase",
    "init seed",
    "init data.train=['pairs.tsv']",
    "train seed 3",
    "train run",
    "train recipe.toml",
    "train keys.toml",
    "train multi30k-tiny",
    "train run --resume --dry-run",
    "train run --resume seed=2",
    "train SETTINGS model.n_heads=3",
    "train SETTINGS data.source_column='one' data.target_column='two' data.train=['text']",
    "train SETTINGS --resume",
    "attention show sparse-max",
    "translate run text --require a --forbid a",
    "translate run text --require Ω",
    "translate run text --prefix Ω",
    "translate run text --text a",
    "data check pairs.tsv pairs.tsv",
    "score run pairs.tsv pairs.tsv",
    "train SETTINGS data.train=['pairs.tsv','pairs.tsv']",
    "train SETTINGS data.train=['/dev/null']",
    "train SETTINGS training.device=tpu",
    "train SETTINGS training.threads=100000",
    "init --train /dev/null --dev pairs.tsv",
    "attention complexity --length 0",
    "nothing",
]

NOT_THERE = [
    "translate nowhere text",
    "translate empty text",
    "translate text text",
    "translate run nowhere",
    "translate run empty",
    "translate run text --ensemble nowhere",
    "translate run text --ensemble export",
    "evaluate nowhere",
    "evaluate empty",
    "evaluate run --source nowhere --reference targets",
    "evaluate run --source text --reference nowhere",
    "evaluate run data.test=['nowhere.tsv']",
    "score nowhere text targets",
    "score run nowhere targets",
    "score run text nowhere",
    "align nowhere pairs.tsv",
    "exposure nowhere",
    "data taxonomy nowhere.tsv",
    "align run nowhere.tsv",
    "align run pairs.tsv --gold nowhere",
    "inspect nowhere a",
    "inspect export a",
    "inspect run a --html nowhere/page.html",
    "export nowhere out --to ctranslate2",
    "export export out --to ctranslate2",
    "export run out --to ctranslate2 --dev nowhere",
    "import nowhere out",
    "import empty out",
    "shortlist nowhere",
    "shortlist alone",
    "average nowhere",
    "average alone",
    "compare run nowhere",
    "runs list nowhere",
    "report nowhere",
    "report empty",
    "report run --output nowhere/page.html",
    "runs show nowhere",
    "runs show empty",
    "runs diff run nowhere",
    "config show nowhere.toml",
    "config diff multi30k-tiny nowhere",
    "data check nowhere.tsv",
    "data check text nowhere",
    "data check pairs.tsv --dev nowhere.tsv",
    "data check pairs.tsv --tokenizers empty",
    "data check nowhere.toml",
    "data stats nowhere.tsv",
    "data split nowhere.tsv --out out",
    "data get multi30k-en-de --from empty",
    "init data.train=['nowhere.tsv'] data.dev=['pairs.tsv']",
    "train nowhere.toml",
    "train empty",
    "train nowhere --resume",
    "train empty --resume",
    "train SETTINGS data.train=['nowhere.tsv']",
    "train SETTINGS data.dev=['nowhere.tsv']",
    "train SETTINGS data.test=['nowhere.tsv']",
]

TAKEN = [
    "export run empty --to ctranslate2",
    "import nowhere empty",
    "init --output text",
    "train SETTINGS run='run'",
]

DAMAGED = [
    "translate unfinished text",
    "translate damaged text",
    "translate run bad.jsonl --input-format jsonl",
    "translate run plain.gz",
    "evaluate unfinished",
    "evaluate damaged",
    "evaluate run --source text --reference short",
    "score damaged text targets",
    "score run text short",
    "align run odd.tsv",
    "align run pairs.tsv --gold gold",
    "align run pairs.tsv --gold short",
    "inspect unfinished a",
    "export unfinished out --to ctranslate2 --dev text",
    "export damaged out --to ctranslate2 --dev text",
    "export run out --to ctranslate2 --dev blank",
    "shortlist unfinished",
    "data stats odd.tsv",
    "data split odd.tsv --out out",
    "train SETTINGS data.train=['odd.tsv']",
    "train SETTINGS data.train=['text','short']",
    "train SETTINGS data.max_length=1",
]

FOUND = [
    "data check odd.tsv",
    "data check pairs.tsv --dev pairs.tsv",
    "compare run other",
    "train SETTINGS data.dev=['pairs.tsv'] data.train=['pairs.tsv']",
]

FINE = [
    "translate run text",
    "translate alone text",
    "evaluate run",
    "score run text targets",
    "exposure run",
    "align run pairs.tsv",
    "inspect run a",
    "average run --last 1",
    "runs list .",
    "report run",
    "report unfinished",
    "runs show run",
    "runs diff run other",
    "compare run run",
    "data check pairs.tsv",
    "data stats pairs.tsv",
    "data list",
    "config presets",
    "attention list",
    "attention show self-attention",
    "translate run --text b",
    "translate run text --output /dev/null",
]


def cases(code: int, *lists: list[str]) -> list[object]:
    return [pytest.param(code, line, id=f"{code}: {line}") for lines in lists for line in lines]


@pytest.mark.parametrize(
    ("code", "line"),
    [*cases(2, OPTIONS, NOT_THERE, TAKEN), *cases(1, DAMAGED), *cases(3, FOUND), *cases(0, FINE)],
)
def test_exit_code(code: int, line: str, place: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    before = sorted(path for path in place.rglob("*") if path.parent == place)
    arguments = line.replace("'", '"').split()
    if "SETTINGS" in arguments:
        arguments[1:2] = [*little_settings(place / "data", *QUICK), f"run={place / 'new'}"]
    outcome = heedful(*arguments)
    shutil.rmtree(place / "new", ignore_errors=True)
    assert outcome.code == code, outcome.err
    assert "Traceback" not in outcome.err
    assert "fault of heedful" not in outcome.err
    if code:
        ours = sum(said.startswith(OURS) for said in outcome.err.splitlines())
        assert ours == 1 or "Usage: " in outcome.err  # of the parser of options
    if code in (1, 2):
        assert outcome.out == ""
    assert sorted(path for path in place.rglob("*") if path.parent == place) == before


def test_every_verb_is_walked() -> None:
    from heedful.cli.app import VERBS

    walked = {line.split()[0] for lines in (OPTIONS, NOT_THERE, TAKEN, DAMAGED, FOUND, FINE) for line in lines}
    assert {verb.name for verb in VERBS} - walked == {"demo", "doctor"}  # one takes minutes, one looks at the machine
