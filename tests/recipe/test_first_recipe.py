"""First recipes: the choice of preset, and a text that reads back as the recipe it describes."""

import tomllib
from pathlib import Path

import pytest

from heedful.config import Layer
from heedful.data.corpus import Pair
from heedful.errors import ConfigError, HeedfulError
from heedful.recipe import first_recipe as start
from heedful.recipe.first_recipe import first_recipe, suggest_preset, write_new
from heedful.recipe.recipe import resolve_file, resolve_recipe


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "words").write_text("cat\ndog\n")
    (tmp_path / "sounds").write_text("K AE T\nD AO G\n")
    return str(tmp_path / "words"), str(tmp_path / "sounds")


class TestSuggestion:
    def test_words(self) -> None:
        found = suggest_preset([Pair("cat", "K AE T"), Pair("dog", "D AO G"), Pair("ice cream", "AY S K R IY M")])
        assert found == ("character", "2 of the first 3 sources are single words")

    def test_sentences(self) -> None:
        assert suggest_preset([Pair("a dog runs", "ein Hund rennt")] * 3).preset == "multi30k-tiny"

    @pytest.mark.parametrize(("count", "preset"), [(11, "multi30k-tiny"), (12, "paper-base"), (40, "paper-base")])
    def test_many_sentences(self, count: int, preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(start, "LOOK_AT", 4)
        monkeypatch.setattr(start, "MANY_PAIRS", 12)
        assert suggest_preset([Pair("a dog runs", "ein Hund rennt")] * count).preset == preset

    def test_no_more_is_read_than_needed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(start, "LOOK_AT", 4)
        monkeypatch.setattr(start, "MANY_PAIRS", 12)
        endless = iter(lambda: Pair("a dog runs", "ein Hund rennt"), None)
        assert suggest_preset(endless).preset == "paper-base"

    def test_nothing(self) -> None:
        assert suggest_preset([]).preset == "multi30k-tiny"


class TestFirstRecipe:
    def test_reads_back_complete(self, words: tuple[str, str]) -> None:
        text, reason = first_recipe(None, {"train": words, "dev": words, "test": ()}, ["training.max_updates=700"])
        assert reason.startswith("Preset character, because 2 of the first 2")
        read = resolve_recipe([Layer("text", tomllib.loads(text))])
        assert read.config.data.train == words
        assert read.config.training.max_updates == 700
        assert read.config.preset == "character"
        assert {origin for key, origin in read.origins.items()} == {"text"}

    def test_named_preset_wins_over_the_data(self, words: tuple[str, str]) -> None:
        text, reason = first_recipe("paper-base", {"train": words, "dev": words, "test": ()}, [])
        assert tomllib.loads(text)["model"]["d_model"] == 512
        assert reason == "Preset paper-base, as you said."

    def test_named_data_set(self) -> None:
        text, reason = first_recipe("character", {"train": (), "dev": (), "test": ()}, ["data.catalogue=cmudict"])
        assert tomllib.loads(text)["data"]["catalogue"] == "cmudict"
        assert "examples" not in reason

    def test_without_data_the_names_are_examples(self) -> None:
        text, reason = first_recipe(None, {"train": (), "dev": (), "test": ()}, [])
        assert tomllib.loads(text)["data"]["train"] == ["train.source", "train.target"]
        assert "put yours there" in reason

    def test_every_key_is_there_and_described_tables_too(self) -> None:
        text, _ = first_recipe(None, {"train": (), "dev": (), "test": ()}, [])
        for key in ("patience", "threads", "d_k", "no_repeat_ngram", "catalogue"):
            assert f"# {key} =  # " in text
        for table in ("data", "tokenizer", "model", "training", "search", "evaluation"):
            assert f"\n[{table}]\n# " in text
        assert '\nmethod = "beam"  # beam | sample | mbr (minimum Bayes risk)\n' in text

    def test_train_without_dev(self, words: tuple[str, str]) -> None:
        with pytest.raises(ConfigError, match="`dev` is required beside `train`"):
            first_recipe(None, {"train": words, "dev": (), "test": ()}, [])

    def test_missing_file(self, words: tuple[str, str]) -> None:
        with pytest.raises(HeedfulError, match="wrods"):
            first_recipe(None, {"train": (words[0].replace("words", "wrods"), words[1]), "dev": words, "test": ()}, [])


class TestWriting:
    def test_new(self, tmp_path: Path) -> None:
        write_new(tmp_path / "a" / "recipe.toml", "seed = 1\n")
        assert (tmp_path / "a" / "recipe.toml").read_text() == "seed = 1\n"

    def test_existing_stays(self, tmp_path: Path) -> None:
        (tmp_path / "recipe.toml").write_text("mine")
        with pytest.raises(ConfigError, match="exists already, and stays as it is") as caught:
            write_new(tmp_path / "recipe.toml", "seed = 1\n")
        assert "--output" in str(caught.value.hint)
        assert (tmp_path / "recipe.toml").read_text() == "mine"


def test_written_recipe_loads_from_its_file(words: tuple[str, str], tmp_path: Path) -> None:
    text, _ = first_recipe(None, {"train": words, "dev": words, "test": words}, [])
    write_new(tmp_path / "recipe.toml", text)
    loaded = resolve_file(tmp_path / "recipe.toml")
    assert loaded.origins["model.d_model"].startswith(f"{tmp_path / 'recipe.toml'}, line ")
