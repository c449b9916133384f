"""Runs, bundles and exports of earlier versions: their flat table of search is read as it was meant."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from safetensors.torch import load_file, save_file
from tests.pipeline.little import QUICK, TRAINING, WORDS, little_run, untrained_bundle
from tests.pipeline.test_encoder_only import TAGGER, write_tagged

from heedful.config import read_toml, to_tree
from heedful.decoding.config import BeamSearch, MBRSearch, SampleSearch, SearchConfig
from heedful.export.targets import open_export, write_export
from heedful.models.bundle import Bundle, load_bundle, save_bundle
from heedful.pipeline.load import load, recipe_of
from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe, stored_recipe
from heedful.recipe.tables import build_model
from heedful.records.checksums import SUMS
from heedful.records.run import Run
from heedful.text.tokenizer import train_tokenizers

CLASSIFIER = (
    "data.catalogue=keywords",
    "model.kind=pooling-classifier",
    "model.d_model=8",
    "tokenizer.joint=false",
    "tokenizer.source.kind=words",
    "tokenizer.target.kind=words",
    "evaluation.metrics=['accuracy']",
)

# What those versions wrote into every recipe that they stored: all settings of all methods but those that were not set.
FLAT = {
    "beam": 4,
    "length_penalty": 0.5,
    "max_extra": 2,
    "max_tokens": 4096,
    "max_source": 1024,
    "precision": "float32",
    "seed": 1,
    "mbr_candidates": "samples",
    "mbr_utility": "chrf",
    "shortlist": False,
}
ENCODER_ONLY = {**FLAT, "beam": 1, "length_penalty": 0.6}  # of a model without a decoder
CASES: list[tuple[dict[str, Any], SearchConfig]] = [
    ({}, BeamSearch(beam=4, length_penalty=0.5, max_extra=2)),
    ({"top_k": 3, "mbr_utility": "bleu", "seed": 9}, BeamSearch(beam=4, length_penalty=0.5, max_extra=2)),
    ({"temperature": 0.5, "top_p": 0.9, "seed": 7}, SampleSearch(temperature=0.5, top_p=0.9, seed=7, max_extra=2)),
    ({"mbr_samples": 8, "seed": 7}, MBRSearch(samples=8, seed=7, max_extra=2)),
    (
        {"mbr_samples": 8, "temperature": 0.5, "mbr_utility": "bleu", "mbr_candidates": "both"},
        MBRSearch(
            samples=8, temperature=0.5, utility="bleu", candidates="both", beam=4, length_penalty=0.5, max_extra=2
        ),
    ),
]
NAMES = ["beam", "idle settings", "samples", "MBR", "MBR among all"]


def as_earlier(run: Path, search: dict[str, Any]) -> Path:
    """Store the recipes of a run, its bundle's or an export's as earlier versions did: no method, no checksums."""
    for path in [*run.rglob("recipe.toml"), *run.rglob("config.resolved.toml")]:
        path.write_text(tomlkit.dumps({**read_toml(path).values, "search": search}))
    for path in [*run.rglob("bundle.toml"), *run.rglob("export.toml")]:
        facts = {key: value for key, value in read_toml(path).values.items() if key != "checksums"}
        path.write_text(tomlkit.dumps(facts))
    for path in run.rglob(SUMS):
        path.unlink()
    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("run"))


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


@pytest.mark.parametrize(("changes", "wanted"), CASES, ids=NAMES)
class TestStored:
    def test_a_run_and_its_bundle(self, changes: dict[str, Any], wanted: SearchConfig, run: Path) -> None:
        as_earlier(run, {**FLAT, **changes})
        assert stored_recipe(run).search == wanted
        assert recipe_of(run).search == recipe_of(run / "model").search == wanted
        assert load(run).search == wanted
        assert len(load(run).translate(["a b", ""])) == 2

    def test_an_export(self, changes: dict[str, Any], wanted: SearchConfig, tmp_path: Path) -> None:
        folder = untrained_bundle(tmp_path / "model", [("abc", "cba")])
        (tmp_path / "out").mkdir()
        write_export(load_bundle(folder), tmp_path / "out", "onnx", "float32")
        as_earlier(tmp_path / "out", {**FLAT, **changes})
        engine: Any = open_export(tmp_path / "out")
        assert engine.search == wanted

    def test_is_evaluated(self, changes: dict[str, Any], wanted: SearchConfig, run: Path, heedful: Callable) -> None:
        as_earlier(run, {**FLAT, **changes})
        done = heedful("evaluate", str(run), "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["decode"] == wanted.describe()


def test_other_settings_of_search_than_the_stored(run: Path, heedful: Callable) -> None:
    """Of another method: what the stored one has of its own is gone."""
    as_earlier(run, FLAT)
    for change, wanted in (
        ("search.temperature=0.5", SampleSearch(temperature=0.5, max_extra=2)),
        ("search.method=sample", SampleSearch(max_extra=2)),
        ("search.samples=4", MBRSearch(samples=4, max_extra=2)),
        ("search.beam=1", BeamSearch(beam=1, length_penalty=0.5, max_extra=2)),
    ):
        done = heedful("evaluate", str(run), change, "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["decode"] == wanted.describe()


def test_a_run_goes_on(tmp_path: Path, heedful: Callable) -> None:
    """With the configuration that it was begun with, though it is written in another form today."""
    run = as_earlier(little_run(tmp_path), FLAT)
    done = heedful("train", "--resume", str(run), "training.max_updates=4")
    assert done.code == 0, done.err
    assert stored_recipe(run).search == BeamSearch(beam=4, length_penalty=0.5, max_extra=2)
    (changed,) = Run.open(run).read_log("config")
    assert list(changed["changed"]) == ["training.max_updates"]
    refused = heedful("train", "--resume", str(run), "search.beam=2")
    assert refused.code == 2
    assert "search.beam: 4 -> 2" in refused.err


def test_a_beam_that_a_tagger_had(tmp_path: Path, heedful: Callable) -> None:
    """It did nothing, and was let stand there."""
    settings = [*write_tagged(tmp_path / "data"), *TRAINING, *WORDS, *TAGGER, *QUICK]
    made = train(load_recipe(None, settings), tmp_path / "run").run
    run = as_earlier(made, ENCODER_ONLY)
    assert load(run).search == recipe_of(run).search == BeamSearch(max_extra=2)
    assert heedful("evaluate", str(run), "--json").code == 0


@pytest.mark.parametrize(
    "settings",
    [
        ("model.encoder=none", "model.pooling=mean"),
        ("model.encoder=disan", "model.pooling=source2token"),
        ("model.encoder=rnn", "model.pooling=hard"),
    ],
    ids=["mean", "disan", "hard"],
)
def test_a_classifier(settings: tuple[str, ...], tmp_path: Path) -> None:
    """All encoders and poolings were of one kind, and the baseline of the reward was the model's own."""
    recipe = load_recipe(None, [*CLASSIFIER, *settings])
    tokenizers = train_tokenizers(recipe.tokenizer, [("a b c", "red"), ("b c", "blue")], seed=1)
    model = build_model(recipe.model, len(tokenizers.source), len(tokenizers.target))
    save_bundle(tmp_path / "model", Bundle(model, tokenizers, to_tree(recipe), recipe.model), "# Random weights\n")
    wanted = [one.text for one in load(tmp_path / "model").translate(["a b", "c"])]
    stored = read_toml(tmp_path / "model" / "recipe.toml").values
    as_earlier(tmp_path / "model", ENCODER_ONLY)
    earlier = {**stored, "model": {**stored["model"], "kind": "classifier"}, "search": ENCODER_ONLY}
    (tmp_path / "model" / "recipe.toml").write_text(tomlkit.dumps(earlier))
    weights = load_file(tmp_path / "model" / "model.safetensors")
    renamed = {
        name.removeprefix("pooling.") if name.endswith("baseline.value") else name: weights[name] for name in weights
    }
    save_file(renamed, tmp_path / "model" / "model.safetensors")
    found = load(tmp_path / "model")
    assert [one.text for one in found.translate(["a b", "c"])] == wanted
    assert recipe_of(tmp_path / "model").model == recipe.model
