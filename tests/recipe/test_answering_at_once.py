"""A model without a decoder on the main road: trained, scored, asked, inspected, and refused where it cannot go."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.recipe.little import TRAINING, WORDS

from heedful.errors import ConfigError
from heedful.models.bundle import load_bundle
from heedful.recipe.load import load, load_ensemble
from heedful.recipe.recipe import Recipe, load_recipe
from heedful.recipe.train import dry_run, train

TAGGER = (
    "model.kind=tagger",
    "model.encoder=gru",
    "model.d_model=16",
    "model.d_hidden=16",
    "tokenizer.joint=false",
    "evaluation.metrics=['accuracy', 'exact']",
    "evaluation.dev_sentences=8",
    "evaluation.bootstrap_samples=20",
    "training.select=accuracy",
    "training.max_updates=150",
    "training.learning_rate=0.02",
)
RULE = {"a": "VOWEL", "e": "VOWEL", "b": "STOP", "d": "STOP", "m": "NASAL"}


def write_tagged(folder: Path, broken: bool = False) -> list[str]:
    """The letters of numbers in base five, and what kind each is; the last of a sentence is LAST."""
    folder.mkdir()
    settings = []
    for split, numbers in (("train", range(100, 300)), ("dev", range(300, 312)), ("test", range(312, 324))):
        lines = []
        for number in numbers:
            letters = [list(RULE)[number // 5**place % 5] for place in range(4)]
            labels = [*(RULE[letter] for letter in letters[:-1]), "LAST"]
            lines.append(f"{' '.join(letters)}\t{' '.join(labels[broken and number == 117 :])}\n")
        path = folder / f"{split}.tsv"
        path.write_text("".join(lines))
        settings.append(f"data.{split}=['{path}']")
    return settings


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tagger")
    recipe: Recipe = load_recipe(None, [*write_tagged(folder / "data"), *TRAINING, *WORDS, *TAGGER]).config
    return train(recipe, folder / "run").run


def test_learns_the_rule(run: Path, heedful: Callable) -> None:
    outcome = heedful("evaluate", str(run), "--json")
    assert outcome.code == 0
    assert load(run).translate(["a e m b"])[0].text == "VOWEL VOWEL NASAL LAST"


def test_one_line_in_one_line_out(run: Path) -> None:
    lines = ["a b m", "", "zz a b d", "a"]
    texts = [one.text for one in load(run).translate(lines)]
    assert [len(text.split()) for text in texts] == [3, 0, 4, 1]
    assert texts == [load(run).translate([line])[0].text for line in lines]


def test_the_best_few_and_their_scores(run: Path) -> None:
    translator = load(run)
    (found,) = translator.translate(["a b"], n_best=3)
    assert len(found.n_best) == 3
    (scored,) = translator.score(["a b"], [found.n_best[1].text])
    assert scored.log_p == pytest.approx(found.n_best[1].log_p, abs=1e-4)
    assert found.n_best[0].log_p >= found.n_best[1].log_p >= found.n_best[2].log_p


def test_what_cannot_be_asked(run: Path, heedful: Callable) -> None:
    outcome = heedful("inspect", str(run), "a b")
    assert "This model has no attention to show." in outcome.err
    with pytest.raises(ConfigError, match="this one answers at once"):
        load(run).translate(["a"], prefixes=["VOWEL"])
    with pytest.raises(ConfigError, match="An ensemble is of models with a decoder"):
        load_ensemble(run, [run])
    assert load_bundle(run / "model").recipe["model"]["kind"] == "tagger"


def test_one_label_a_place_is_looked_at_before_training(tmp_path: Path) -> None:
    recipe = load_recipe(None, [*write_tagged(tmp_path / "data", broken=True), *TRAINING, *WORDS, *TAGGER]).config
    message = r"1 training pairs do not have one label a place; the first is pair 18: 4 places, 3 labels"
    with pytest.raises(ConfigError, match=message):
        dry_run(recipe, tmp_path / "run")
