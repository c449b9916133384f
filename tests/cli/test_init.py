"""`heedful init`: one file, one line of result, and nothing ever replaced."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.house.source import ROOT


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.en": "a dog runs\n", "a.de": "ein Hund rennt\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_own_files(folder: Path, heedful: Callable) -> None:
    code, out, err = heedful(
        "init", "--train", "a.en", "a.de", "--dev", "a.en", "a.de", "--output", "mine.toml", "seed=5"
    )
    assert (code, out) == (0, "mine.toml\n")
    assert "Preset multi30k-tiny, because there are fewer than 500,000 pairs" in err
    assert "heedful train mine.toml --dry-run" in err
    written = tomllib.loads((folder / "mine.toml").read_text())
    assert written["data"]["train"] == ["a.en", "a.de"]
    assert written["seed"] == 5


@pytest.mark.parametrize(
    ("train", "preset"),
    [("['a.en', 'a.de']", "multi30k-tiny"), ("['words.csv']", "character"), ("['a.de', 'sounds']", "multi30k-tiny")],
)
def test_data_given_as_keys_is_looked_at_too(train: str, preset: str, folder: Path, heedful: Callable) -> None:
    (folder / "words.csv").write_text("written,spoken\ncat,K AE T\ndog,D AO G\n")
    (folder / "sounds").write_text("AY N\n")
    columns = ["data.source_column=written", "data.target_column=spoken"] if "csv" in train else []
    code, _, err = heedful("init", f"data.train={train}", "data.dev=['a.en', 'a.de']", *columns)
    assert code == 0, err
    assert f"Preset {preset}, because " in err
    assert tomllib.loads((folder / "recipe.toml").read_text())["preset"] == preset


@pytest.mark.parametrize(
    ("line", "train", "dev"),
    [
        ("--train a.tsv --dev b.tsv", ["a.tsv"], ["b.tsv"]),
        ("--train a.tsv --dev a.en a.de", ["a.tsv"], ["a.en", "a.de"]),
        ("--train a.en a.de --dev b.tsv seed=5", ["a.en", "a.de"], ["b.tsv"]),
        ("seed=5 --train=a.en a.de --dev=b.tsv", ["a.en", "a.de"], ["b.tsv"]),
        ("--train a.en --train a.de --dev b.tsv", ["a.en", "a.de"], ["b.tsv"]),
        ("--train x=1.tsv --dev a.en x=1.tsv", ["x=1.tsv"], ["a.en", "x=1.tsv"]),
        ("--dev b.tsv --train notes.txt --preset character", ["notes.txt"], ["b.tsv"]),
    ],
)
def test_no_option_swallows_the_next(
    line: str, train: list[str], dev: list[str], folder: Path, heedful: Callable
) -> None:
    for name in ("a.tsv", "b.tsv", "x=1.tsv", "notes.txt"):
        (folder / name).write_text("a dog runs\tein Hund rennt\n")
    code, out, err = heedful("init", *line.split(), "--output", "mine.toml")
    assert (code, out) == (0, "mine.toml\n"), err
    written = tomllib.loads((folder / "mine.toml").read_text())
    assert (written["data"]["train"], written["data"]["dev"]) == (train, dev)
    assert written["seed"] == (5 if "seed=5" in line else 1)


def test_too_many_files(heedful: Callable) -> None:
    code, _, err = heedful("init", "--train", "a.en", "a.de", "--train", "a.en", "--dev", "a.en", "a.de")
    assert code == 2
    assert "`data.train` must have at most 2 items" in err
    assert heedful("init", "--train", "a.en", "a.de", "a.fr", "--dev", "a.en", "a.de").code == 2


@pytest.mark.parametrize(
    ("name", "preset", "why"),
    [
        ("histnorm-german-ridges", "character", "single words"),
        ("sigmorphon2021-g2p-ice", "character", "single words"),
        ("cmudict-stress", "character", "single words"),
        ("ewt-upos", "tagger", "a tag for each word"),
        ("snips-slots", "tagger", "a tag for each word"),
        ("snips-intent", "multi30k-tiny", "no preset is made for label"),
        ("multi30k-de-en", "multi30k-tiny", "pairs of sentences"),
        ("copy", "multi30k-tiny", "pairs of sentences"),
    ],
)
def test_a_named_data_set_decides_too(name: str, preset: str, why: str, folder: Path, heedful: Callable) -> None:
    """Without the network: nothing is fetched for it."""
    code, _, err = heedful("init", f"data.catalogue={name}")
    assert code == 0, err
    assert f"Preset {preset}, because " in err
    assert why in err
    assert tomllib.loads((folder / "recipe.toml").read_text())["preset"] == preset


def test_an_unknown_data_set(folder: Path, heedful: Callable) -> None:
    code, _, err = heedful("init", "data.catalogue=histnorm-german-ridge")
    assert code == 2
    assert "Did you mean histnorm-german-ridges" in err
    assert not (folder / "recipe.toml").exists()


def test_what_can_be_read_only_once_is_no_data(folder: Path, heedful: Callable) -> None:
    code, _, err = heedful("init", "--train", "-", "--dev", "a.en", "a.de")
    assert code == 2
    assert err.startswith("error: - can be read only once")


def test_a_preset_given_as_a_key_is_that_of_the_recipe(folder: Path, heedful: Callable) -> None:
    code, _, err = heedful("init", "preset=character", "data.train=['a.en', 'a.de']", "data.dev=['a.en', 'a.de']")
    assert code == 0
    assert "Preset character, as you said." in err
    assert tomllib.loads((folder / "recipe.toml").read_text())["preset"] == "character"


def test_an_existing_file_is_seen_before_anything_else(folder: Path, heedful: Callable) -> None:
    (folder / "recipe.toml").write_text("mine")
    _, _, err = heedful("init", "--preset", "paperbase", "data.train=['nowhere']")
    assert err.startswith("error: recipe.toml exists already, and stays as it is.\n")


def test_twice(folder: Path, heedful: Callable) -> None:
    assert heedful("init").code == 0
    before = (folder / "recipe.toml").read_bytes()
    code, out, err = heedful("init", "--preset", "character")
    assert (code, out) == (2, "")
    assert err.startswith("error: recipe.toml exists already, and stays as it is.\n")
    assert (folder / "recipe.toml").read_bytes() == before


def test_unknown_preset_writes_nothing(folder: Path, heedful: Callable) -> None:
    code, _, err = heedful("init", "--preset", "paperbase")
    assert code == 2
    assert "Did you mean `paper-base`?" in err
    assert not (folder / "recipe.toml").exists()


def test_written_recipe_can_be_shown(heedful: Callable) -> None:
    assert heedful("init", "--preset", "character", "data.catalogue=cmudict").code == 0
    code, out, _ = heedful("config", "show", "recipe.toml")
    assert code == 0
    assert "recipe.toml, line" in out


class TestRecipe:
    """`--recipe` copies a recipe that comes with heedful."""

    def test_is_copied_with_its_comments(self, folder: Path, heedful: Callable) -> None:
        code, out, err = heedful("init", "--recipe", "reverse", "--output", "my first.toml")
        assert (code, out) == (0, "my first.toml\n")
        assert "Recipe reverse, as it comes with heedful." in err
        shipped = (ROOT / "recipes" / "reverse.toml").read_text("utf-8")
        copied = (folder / "my first.toml").read_text("utf-8")
        assert copied == shipped.replace("recipes/reverse.toml", "'my first.toml'"), "its comments name the copy"
        assert "#   heedful train 'my first.toml'\n" in copied

    @pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*.toml")), ids=lambda path: path.stem)
    def test_says_the_same(self, path: Path, folder: Path, heedful: Callable) -> None:
        assert heedful("init", "--recipe", path.stem).code == 0
        assert tomllib.loads((folder / "recipe.toml").read_text()) == tomllib.loads(path.read_text())

    @pytest.mark.parametrize("name", ["cmudic", "recipes/cmudict.toml", "cmudict.toml"])
    def test_the_nearest_name_is_suggested(self, name: str, folder: Path, heedful: Callable) -> None:
        code, out, err = heedful("init", "--recipe", name)
        assert (code, out) == (2, "")
        assert err.startswith(f"error: No recipe `{name}` comes with heedful.\n")
        assert "Did you mean `cmudict`? There are: architectures, articles-rnn, " in err
        assert not (folder / "recipe.toml").exists()

    @pytest.mark.parametrize("name", ["../pyproject", "xyzzy", ""])
    def test_an_unknown_name_lists_all(self, name: str, heedful: Callable) -> None:
        _, _, err = heedful("init", "--recipe", name)
        assert "hint: There are: architectures, " in err
        assert ", reverse, " in err

    @pytest.mark.parametrize(
        ("others", "named"),
        [
            (["--preset", "character"], "--preset"),
            (["--dev", "a.en", "a.de"], "--dev"),
            (["seed=5"], "seed=5"),
        ],
    )
    def test_nothing_else_goes_with_it(self, others: list[str], named: str, folder: Path, heedful: Callable) -> None:
        code, _, err = heedful("init", "--recipe", "reverse", *others)
        assert code == 2
        assert f"--recipe copies a whole recipe, so {named} cannot go with it." in err
        assert "heedful train recipe.toml key=value" in err
        assert not (folder / "recipe.toml").exists()

    def test_an_existing_file_stays(self, folder: Path, heedful: Callable) -> None:
        (folder / "recipe.toml").write_text("mine")
        assert heedful("init", "--recipe", "reverse").code == 2
        assert (folder / "recipe.toml").read_text() == "mine"

    def test_a_missing_recipe_leads_to_it(self, heedful: Callable) -> None:
        assert "`heedful init --recipe NAME` copies one" in heedful("train", "recipes/reverse.toml").err
