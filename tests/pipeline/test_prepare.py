"""Tokenisers and stores of a recipe: made once, kept, and made anew for another recipe."""

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.little import little_settings

from heedful.data.corpus import Pair, read_pairs
from heedful.errors import ConfigError, HeedfulError
from heedful.pipeline.prepare import prepare
from heedful.pipeline.train import train
from heedful.recipe import splits
from heedful.recipe.recipe import load_recipe
from heedful.records.checksums import SUMS
from heedful.tasks.task import EncodedCorpus


class Steps:
    """A report that remembers the events."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.facts: dict[str, Mapping[str, Any]] = {}

    def __call__(self, event: str, facts: Mapping[str, Any]) -> None:
        self.events.append(event)
        self.facts[event] = facts


def prepared(tmp_path: Path, *changes: str) -> tuple[EncodedCorpus, Steps]:
    recipe = load_recipe(None, little_settings(tmp_path / "files", *changes))
    steps = Steps()
    return prepare(recipe, tmp_path / "data", steps), steps


ONE_UPDATE = ("training.max_updates=1", "training.warmup_steps=1")


class TestReadings:
    """How often files are read on their way, and what happens if they change meanwhile."""

    def counted(self, monkeypatch: pytest.MonkeyPatch, after_first: Callable[[], None] | None = None) -> Counter[str]:
        readings: Counter[str] = Counter()

        def watched(files: Sequence[str], *columns: str) -> Iterator[Pair]:
            yield from read_pairs(files, *columns)
            name = Path(files[0]).name.partition(".")[0]
            readings[name] += 1  # to the end
            if after_first is not None and sum(readings.values()) == 1:
                after_first()

        monkeypatch.setattr(splits, "read_pairs", watched)
        return readings

    def test_twice_before_training_and_once_to_score(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        readings = self.counted(monkeypatch)
        train(load_recipe(None, little_settings(tmp_path / "files", *ONE_UPDATE)), tmp_path / "run")
        assert readings == {"train": 2, "dev": 3, "test": 4}, "test: checked, tried before training, scored, recorded"

    def test_once_when_a_run_goes_on(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        settings = little_settings(tmp_path / "files", *ONE_UPDATE)
        train(load_recipe(None, settings), tmp_path / "run")
        readings = self.counted(monkeypatch)
        longer = load_recipe(None, [*settings, "training.max_updates=2"])
        train(longer, tmp_path / "run", resume=True)
        assert readings["train"] == 1, "to see that they are still the same"

    def test_data_that_change_meanwhile(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        settings = little_settings(tmp_path / "files")
        self.counted(monkeypatch, lambda: change(tmp_path, "train", 3, "another\tline"))
        with pytest.raises(HeedfulError, match="changed while they were read"):
            prepare(load_recipe(None, settings), tmp_path / "data", Steps())
        assert not (tmp_path / "data").exists()


ALL = ["checking", "tokenizers", "encoding", "prepared"]


def test_once(tmp_path: Path) -> None:
    first, steps = prepared(tmp_path)
    assert steps.events == ALL
    assert steps.facts["prepared"] == {
        "train_pairs": 200,
        "dev_pairs": 12,
        "dropped": {"empty": 0, "too long": 0},
        "source_size": 30,
        "target_size": 30,
        "data_fingerprint": first.train.fingerprint,
        "dev_fingerprint": first.dev.fingerprint,
        "tokenizers": [first.tokenizers.source.fingerprint, first.tokenizers.target.fingerprint],
    }
    again, steps = prepared(tmp_path)
    assert steps.events == ["prepared"]
    assert again.train.fingerprint == first.train.fingerprint
    assert again.tokenizers.source.fingerprint == first.tokenizers.source.fingerprint


@pytest.mark.parametrize("change", ["tokenizer.source.kind=characters", "data.max_length=9", "seed=2"])
def test_anew_for_another_recipe(tmp_path: Path, change: str) -> None:
    prepared(tmp_path)
    _, steps = prepared(tmp_path, change)
    assert [event for event in steps.events if event != "data warning"] == ALL


def test_not_for_what_does_not_touch_the_data(tmp_path: Path) -> None:
    prepared(tmp_path)
    _, steps = prepared(tmp_path, "model.d_model=32", "training.max_updates=99")
    assert steps.events == ["prepared"]


def test_a_half_prepared_folder_is_made_anew(tmp_path: Path) -> None:
    first, _ = prepared(tmp_path)
    (tmp_path / "data" / "prepared").unlink()
    (tmp_path / "data" / "train" / "pairs.arrow").write_bytes(b"half")
    again, steps = prepared(tmp_path)
    assert steps.events == ALL
    assert again.train.fingerprint == first.train.fingerprint


def test_dev_pairs_are_never_too_long(tmp_path: Path) -> None:
    found, _ = prepared(tmp_path, "data.max_length=9")
    assert len(found.dev) == 12
    assert int(found.dev.source_lengths.max()) > 9


def test_what_is_left_out_is_said_with_its_place(tmp_path: Path) -> None:
    found, steps = prepared(tmp_path, "data.max_length=9")
    lengths = [len(line.split("\t")[0].split()) for line in (tmp_path / "files" / "train.tsv").read_text().splitlines()]
    first = next(number for number, length in enumerate(lengths, start=1) if length > 9)
    long = sum(length > 9 for length in lengths)
    assert len(found.train) == 200 - long
    text = f"train:{first}: the first of the pairs that are left out: of 200 pairs {long} too long."
    assert steps.facts["data warning"]["text"] == text
    assert "data.max_length is 9 tokens" in steps.facts["data warning"]["hint"]


def test_an_output_bias_is_not_trained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.output_bias is of imported models, and is not trained"):
        prepared(tmp_path, "model.output_bias=true")


def change(tmp_path: Path, split: str, line: int, text: str) -> None:
    path = tmp_path / "files" / f"{split}.tsv"
    lines = path.read_text().splitlines()
    lines[line - 1 : line] = text.splitlines()
    path.write_text("".join(f"{one}\n" for one in lines))


@pytest.fixture
def again(tmp_path: Path) -> Callable[[bool], list[str]]:
    """Prepare what `prepared` has made, from the files as they are; what happened."""
    recipe = load_recipe(None, little_settings(tmp_path / "files", "data.max_length=9"))
    first = Steps()
    prepare(recipe, tmp_path / "data", first)

    def prepared_again(in_use: bool) -> list[str]:
        steps = Steps()
        prepare(recipe, tmp_path / "data", steps, learnt=first.facts["prepared"] if in_use else None)
        return [event for event in steps.events if event != "data warning"]

    return prepared_again


class TestChangedCorpus:
    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_is_prepared_anew_while_nothing_has_learnt_from_it(
        self, split: str, tmp_path: Path, again: Callable
    ) -> None:
        assert again(False) == ["prepared"]
        change(tmp_path, split, 3, "a b\tb a")
        assert again(False) == ALL
        assert again(False) == ["prepared"]

    def test_is_refused_once_a_model_has_learnt_from_it(self, tmp_path: Path, again: Callable) -> None:
        assert again(True) == ["prepared"]
        kept = (tmp_path / "data" / "train" / "pairs.arrow").read_bytes()
        lines = (tmp_path / "files" / "train.tsv").read_text().splitlines()
        short = next(n for n, line in enumerate(lines, start=1) if n > 3 and len(line.split("\t")[0].split()) < 9)
        source, target = lines[short - 1].split("\t")
        change(tmp_path, "train", short, "a b\tb a")
        change(tmp_path, "dev", 12, "")
        with pytest.raises(ConfigError) as caught:
            again(True)
        said = f"train:{short}: {source!r} / {target!r} -> 'a b' / 'b a'"
        assert caught.value.message.splitlines() == [
            "The data have changed since this run began:",
            f"  train: 200 pairs -> 200 pairs; the first that differs is {said}",
            "  dev: 12 pairs -> 11 pairs",
        ]
        assert caught.value.hint == "Put the former data back, or begin another run with these: run=NAME."
        assert (tmp_path / "data" / "train" / "pairs.arrow").read_bytes() == kept

    def test_pairs_that_are_left_out_count_too(self, tmp_path: Path, again: Callable) -> None:
        lines = (tmp_path / "files" / "train.tsv").read_text().splitlines()
        long = next(n for n, line in enumerate(lines, start=1) if len(line.split("\t")[0].split()) > 9)
        change(tmp_path, "train", long, lines[long - 1] + " a")
        with pytest.raises(ConfigError, match=r"\n  train: 200 pairs -> 200 pairs\n"):
            again(True)

    def test_a_run_of_an_earlier_version_goes_on(self, tmp_path: Path, again: Callable) -> None:
        """It kept no fingerprints."""
        done = tmp_path / "data" / "prepared"
        facts = json.loads(done.read_text())
        assert facts.pop("corpus")["dev"]["pairs"] == 12
        done.write_text(json.dumps(facts))
        for sums in (tmp_path / "data").rglob(SUMS):
            sums.unlink()
        assert again(True) == ["prepared"]

    @pytest.mark.parametrize("lost", ["data/prepared", "data", "data/train/store.json", "data/dev/pairs.arrow"])
    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_is_refused_though_what_was_prepared_is_gone(
        self, lost: str, split: str, tmp_path: Path, again: Callable
    ) -> None:
        gone = tmp_path / lost
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        former = (tmp_path / "files" / f"{split}.tsv").read_text()
        change(tmp_path, split, 3, "a b\tb a")
        with pytest.raises(ConfigError, match="The data have changed since this run began"):
            again(True)
        (tmp_path / "files" / f"{split}.tsv").write_text(former)
        assert again(True) == ALL
        assert again(True) == ["prepared"]


@pytest.mark.parametrize(
    "name",
    ["prepared", "tokenizer.joint.vocab", "tokenizer.joint.toml", "train/pairs.arrow", "dev/store.json"],
)
def test_no_flipped_byte_is_believed(name: str, tmp_path: Path, again: Callable) -> None:
    """What is damaged is made anew, of the corpus that it was made of."""
    path = tmp_path / "data" / name
    whole, chance = path.read_bytes(), random.Random(1)
    for _ in range(5):
        place, change = chance.randrange(len(whole)), chance.randint(1, 255)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
        assert again(True) == ALL
        assert path.read_bytes() == whole


def test_tokenizers_of_another_corpus(tmp_path: Path, again: Callable) -> None:
    """Without checksums, as earlier versions wrote it, they are compared with those by which the ids were made."""
    for sums in (tmp_path / "data").rglob(SUMS):
        sums.unlink()
    path = tmp_path / "data" / "tokenizer.joint.vocab"
    *symbols, last = path.read_text().splitlines()
    path.write_text("".join(f"{symbol}\n" for symbol in [*symbols[:4], last, *symbols[4:]]))
    assert again(True) == ALL
