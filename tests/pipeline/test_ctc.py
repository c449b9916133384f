"""CTC on the main road: what is impossible is found before training, what is dropped is counted, and speech is read."""

import wave
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.little import MEASURING, QUICK, TRAINING, write_pairs

from heedful.errors import ConfigError
from heedful.pipeline.load import load
from heedful.pipeline.preflight import preflight
from heedful.pipeline.prepare import prepare
from heedful.pipeline.speed import benchmark_precisions, with_resolved_precision
from heedful.pipeline.train import new_model, plan_of, silent, train
from heedful.recipe.recipe import Recipe, load_recipe
from heedful.records.results import read_results_file

CTC = ("model.kind=ctc", "model.d_model=8", "model.d_hidden=8", "model.n_layers=1", "training.label_smoothing=0.0")
WORDS = ("tokenizer.source.kind=words", "tokenizer.joint=false")


def recipe_of(folder: Path, *changes: str) -> Recipe:
    """Copying letters: wherever two neighbours are equal, a place a letter is too few."""
    data = write_pairs(folder, "copy")
    return load_recipe(None, [*data, *CTC, *TRAINING, *QUICK, *MEASURING, *WORDS, *changes])


def look(folder: Path, *changes: str) -> None:
    recipe = recipe_of(folder / "files", "training.select=exact", *changes)
    prepared = prepare(recipe, folder / "data", silent)
    preflight(recipe, prepared, new_model(recipe, prepared), plan_of(recipe, prepared), folder / "run")


def with_repeats(folder: Path, split: str) -> int:
    lines = [line.split("\t")[1].split() for line in (folder / "files" / f"{split}.tsv").read_text().splitlines()]
    return sum(any(left == right for left, right in pairwise(line)) for line in lines)


class TestImpossible:
    def test_an_error_before_training(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="training pairs are impossible for CTC") as caught:
            look(tmp_path)
        assert caught.value.message.startswith(f"{with_repeats(tmp_path, 'train')} of 200 training pairs")
        assert "model.drop_impossible = true" in (caught.value.hint or "")

    def test_more_places(self, tmp_path: Path) -> None:
        look(tmp_path, "model.upsample=2", "training.select=loss")

    def test_the_baseline_needs_none(self, tmp_path: Path) -> None:
        look(tmp_path, "model.loss=equal-split", "training.select=loss")

    def test_dropped_and_counted(self, tmp_path: Path) -> None:
        look(tmp_path, "model.drop_impossible=true")
        told: list[tuple[str, dict]] = []
        recipe = recipe_of(tmp_path / "files", "model.drop_impossible=true")
        prepared = prepare(recipe, tmp_path / "again", lambda event, facts: told.append((event, dict(facts))))
        impossible = with_repeats(tmp_path, "train")
        assert prepared.train.dropped == {"empty": 0, "too long": 0, "impossible": impossible}
        assert len(prepared.train) == 200 - impossible
        assert len(prepared.dev) == 12
        (warning,) = [facts for event, facts in told if event == "data warning"]
        assert f"of 200 pairs {impossible} impossible" in warning["text"]
        assert "model.upsample" in warning["hint"]

    def test_what_is_dropped_is_prepared_anew(self, tmp_path: Path) -> None:
        """Data of a model that dropped nothing are not those of one that does."""
        sizes = [
            len(prepare(recipe_of(tmp_path / "files", *changes), tmp_path / "data", silent).train)
            for changes in ((), ("model.drop_impossible=true",), ())
        ]
        assert sizes[0] == sizes[2] == 200 > sizes[1]

    def test_dev_pairs_matter_where_their_loss_chooses(self, tmp_path: Path) -> None:
        path = tmp_path / "files" / "dev.tsv"
        recipe = recipe_of(tmp_path / "files", "model.drop_impossible=true", "training.select=loss")
        path.write_text("a a b\ta a b\n" + path.read_text())
        prepared = prepare(recipe, tmp_path / "data", silent)
        model, plan = new_model(recipe, prepared), plan_of(recipe, prepared)
        with pytest.raises(ConfigError, match=r"of 13 dev pairs .* is pair 1: 4 needed, 3") as caught:
            preflight(recipe, prepared, model, plan, tmp_path / "run")
        assert "training.select" in (caught.value.hint or "")


@pytest.mark.parametrize("loss", ["ctc", "equal-split"])
def test_the_whole_road(tmp_path: Path, loss: str) -> None:
    done = train(recipe_of(tmp_path / "files", "model.upsample=2", f"model.loss={loss}"), tmp_path / "run")
    assert {row.metric for row in read_results_file(done.run / "results.csv")} >= {"exact", "per"}
    translator = load(done.run)
    (found,) = translator.translate(["a b c"], n_best=2 if loss == "ctc" else 1)
    (scored,) = translator.score(["a b c"], [found.text])
    assert scored.log_p == pytest.approx(found.n_best[0].log_p, abs=1e-6)
    assert len(scored.tokens) == len(found.text.split()) + 1


def write_sound(path: Path, hertz: int) -> str:
    samples = (8000 * np.sin(2 * np.pi * hertz * np.arange(800) / 8000)).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    return str(path)


TONES = {"low": 300, "middle": 900, "high": 2000}
SPEECH = (
    *CTC,
    "model.frame_width=10",
    "model.stride=2",
    "tokenizer.source.kind=speech",
    "tokenizer.source.frame_width=10",
    "tokenizer.joint=false",
    "tokenizer.target.kind=words",
    "data.max_length=2000",
    "training.max_tokens=4000",
    "search.max_source=2000",
)


@pytest.fixture
def sounds(tmp_path: Path) -> list[str]:
    """Settings of a recipe on tones in some order, two or three different ones to a line."""
    pytest.importorskip("kaldi_native_fbank")
    tones = {name: write_sound(tmp_path / f"{name}.wav", hertz) for name, hertz in TONES.items()}
    rng = np.random.default_rng(3)
    settings = ["data.allow_overlap=true"]  # there are only so many orders
    for split, count in (("train", 60), ("dev", 8), ("test", 8)):
        orders = [rng.permutation(list(tones))[: rng.integers(2, 4)].tolist() for _ in range(count)]
        lines = [f"{' '.join(tones[word] for word in words)}\t{' '.join(words)}\n" for words in orders]
        (tmp_path / f"{split}.tsv").write_text("".join(lines))
        settings.append(f"data.{split}=['{tmp_path / split}.tsv']")
    return settings


class TestSpeech:
    def test_tones_are_told_apart(self, sounds: list[str], tmp_path: Path) -> None:
        quick = ("training.max_updates=200", "training.validate_every=200", "training.max_tokens=8000")
        settings = [*sounds, *SPEECH, *TRAINING, *MEASURING, *quick, "model.dropout=0.0", "model.d_hidden=32"]
        done = train(load_recipe(None, settings), tmp_path / "run")
        scores = {row.metric: row.value for row in read_results_file(done.run / "results.csv") if row.split == "test"}
        assert scores["per"] < 20
        line = Path(tmp_path / "test.tsv").read_text().splitlines()[0].split("\t")[0]
        trace = load(done.run).trace(line)
        assert trace.maps == []
        assert len(trace.source) == 10 * 10 * len(line.split()) + 1

    def test_the_quicker_number_type_is_measured_on_whole_frames(self, sounds: list[str]) -> None:
        settings = [*sounds, *SPEECH, *TRAINING, *MEASURING, "training.precision=auto"]
        recipe = load_recipe(None, settings)
        assert with_resolved_precision(recipe, None).training.precision in ("float32", "bfloat16")
        assert benchmark_precisions(recipe, 260, 6, (400, 3), 1).seconds_an_update > 0

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ("model.frame_width=20", r"`model.frame_width` must be `tokenizer.source.frame_width` \(10\), but is 20"),
            ("tokenizer.source.kind=words", '`model.frame_width` needs `tokenizer.source.kind` = "speech"'),
            ("search.max_source=1999", r"`search.max_source` \(1999\) must be at least `data.max_length` \(2000\)"),
        ],
    )
    def test_settings_that_do_not_fit(self, change: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            load_recipe(None, ["data.catalogue=copy", *SPEECH, change])


def test_smoothing_is_no_setting_of_ctc() -> None:
    with pytest.raises(ConfigError, match=r"`training\.label_smoothing` is of a distribution over labels"):
        load_recipe(None, ["preset=ctc", "data.catalogue=squeezed", "training.label_smoothing=0.1"])
