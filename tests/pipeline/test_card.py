"""The model card says what the recipe, the run and the scores say, in a form that others read, and hides no gap."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.house.source import ROOT

from heedful.pipeline.card import LANGUAGES, Provenance, model_card
from heedful.recipe.recipe import Recipe, load_recipe
from heedful.recipe.splits import about
from heedful.recipe.tables import TASKS
from heedful.records.results import Result

MADE = Provenance(
    2_134_567, "average-of-5", 6000, {"train_pairs": 29_000, "dev_pairs": 1014, "dropped": {"too long": 3}}
)
SIGNATURE = "data:3f|split:test|decode:beam=5|seed:1|metric:multi-bleu|nrefs:1|case:lc"
SCORE = Result(
    run="m",
    seed=1,
    split="test",
    metric="multi-bleu",
    value=40.0149,
    ci_low=38.5,
    ci_high=41.5,
    n=1000,
    signature=SIGNATURE,
    checkpoint="average-of-5",
    decode="beam=5",
    seconds=1.0,
    update=6000,
    chosen=True,
)
OWN = ("preset=character", "data.dev=['d.tsv']")


def named(recipe: str, *changes: str) -> Recipe:
    return load_recipe(ROOT / "recipes" / f"{recipe}.toml", changes)


def front_matter(card: str) -> dict[str, Any]:
    start, matter, _ = card.split("---\n", 2)
    assert start == ""
    return yaml.safe_load(matter)


def test_everything_that_is_known() -> None:
    card = model_card(named("multi30k-en-de"), MADE, [SCORE])
    for fact in (
        "# English to German\n",
        "pre-norm; 2,134,567 parameters",
        "average-of-5, after 6,000 updates, with seed 1.",
        "`multi30k-en-de` (captions of pictures: 29,000 pairs)",
        "- Licence of the data: non-commercial research and education only",
        "- Source: English.\n- Target: German.\n",
        "- Pairs: 29,000 to train on, 1,014 to choose the checkpoint by; 3 left out.",
        "| multi-BLEU | 40.01 | 38.50 to 41.50 | 1,000 | test |",
        f"- multi-BLEU: `{SIGNATURE}`",
        "`beam=5,length_penalty=0.6,max_extra=50`",
        "heedful.load(",
        "heedful translate FOLDER input.txt",
        "- Outputs are in lower case.",
    ):
        assert fact in card
    assert front_matter(card) == {
        "library_name": "heedful",
        "license": "unknown",
        "language": ["en", "de"],
        "tags": ["heedful", "transformer"],
        "metrics": ["multi-bleu", "chrf"],
    }


def test_what_is_not_known_is_said() -> None:
    card = model_card(load_recipe(None, [*OWN, "data.train=['/secret/folder/t.tsv']"]), MADE._replace(prepared={}), [])
    assert "# A Heedful model\n" in card
    assert "files of its own: `t.tsv`." in card
    assert "- Licence of the data: not stated.\n- Source: not stated.\n- Target: not stated.\n" in card
    assert "Not measured yet." in card
    assert "Pairs:" not in card
    assert "secret" not in card, "where files lay is nobody's business"
    assert "language" not in front_matter(card)


@pytest.mark.parametrize(
    ("files", "title", "codes"),
    [
        (["a/train.en", "train.de.gz"], "# en to de\n", ["en", "de"]),
        (["train.zz", "train.de"], "# zz to de\n", ["de"]),
        (["train.src", "train.tgt"], "# A Heedful model\n", None),
        (["en.txt", "de.txt"], "# A Heedful model\n", None),
    ],
)
def test_languages_of_aligned_files_are_what_these_are_called(
    files: list[str], title: str, codes: list[str] | None
) -> None:
    card = model_card(load_recipe(None, [*OWN, f"data.train={files}"]), MADE, [])
    assert title in card
    assert front_matter(card).get("language") == codes


def test_scores_that_are_too_good_are_called_so() -> None:
    assert "so that the scores are too good" in model_card(named("reverse"), MADE, [SCORE._replace(split="dev")])
    assert "so that scores may be too good" in model_card(named("trec-disan"), MADE, [SCORE])
    assert "too good" not in model_card(named("reverse"), MADE, [SCORE])


def test_a_score_without_interval() -> None:
    card = model_card(named("reverse"), MADE, [SCORE._replace(ci_low=None, ci_high=None)])
    assert "| multi-BLEU | 40.01 |  | 1,000 | test |" in card


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_has_a_card(path: Path) -> None:
    recipe = load_recipe(path)
    card = model_card(recipe, MADE, [SCORE])
    assert front_matter(card)["tags"] == ["heedful", recipe.model.kind]
    assert recipe.model.summary in card
    assert "not stated.\n- Source" not in card, "a named data set states its licence"
    assert "{" not in card


def test_every_language_of_a_named_data_set_has_a_code() -> None:
    published = [entry for entry in about() if entry.name not in TASKS]
    sides = {side for entry in published for side in (entry.source_language, entry.target_language)}
    symbols = {"ARPAbet phones", "IPA phones", "UPOS tags", "BIO tags", "a label", "a word"}
    assert [side for side in sides - symbols if not any(name in side for name in LANGUAGES)] == []
