"""Hierarchical attention, ESIM and CMLA on the main road: trained, asked, scored and inspected."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import QUICK, TRAINING, write_pairs

from heedful.gallery.coupled.model import Coupled
from heedful.pipeline.load import load
from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe

ASKED = (
    "tokenizer.joint=false",
    "tokenizer.source.kind=words",
    "tokenizer.target.kind=words",
    "evaluation.metrics=['accuracy']",
    "evaluation.bootstrap_samples=20",
    "model.d_model=8",
    "model.d_hidden=8",
)
PARTS = "tokenizer.source.separator='|||'"
KINDS = {
    "hierarchical": ("documents", PARTS, "model.reading=hierarchical"),
    "inference": ("inference", PARTS),
    "coupled": ("tags", "model.n_forms=2", "model.penalty=0.1"),
}


def settings_of(kind: str, folder: Path) -> list[str]:
    task, *own = KINDS[kind]
    if task != "tags":
        return [*write_pairs(folder, task), *TRAINING, *QUICK, *ASKED, f"model.kind={kind}", *own]
    folder.mkdir()
    for split, count in (("train", 40), ("dev", 6), ("test", 6)):
        lines = [f"the food {split} {k} is good\tO B-target O O O B-expression\n" for k in range(count)]
        (folder / f"{split}.tsv").write_text("".join(lines))
    files = [f"data.{split}=['{folder / split}.tsv']" for split in ("train", "dev", "test")]
    return [*files, *TRAINING, *QUICK, *ASKED, f"model.kind={kind}", *own]


@pytest.mark.parametrize("kind", KINDS)
def test_trains_answers_scores_and_is_inspected(kind: str, tmp_path: Path, heedful: Callable) -> None:
    recipe = load_recipe(None, settings_of(kind, tmp_path / "data"))
    run = train(recipe, tmp_path / "run").run
    assert recipe.model.summary in (run / "model" / "README.md").read_text("utf-8")
    source = (tmp_path / "data" / "test.tsv").read_text().split("\t")[0]
    (found,) = load(run).translate([source])
    assert len(found.text.split()) == (len(source.split()) if kind == "coupled" else 1)
    assert heedful("inspect", str(run), source).code == 0
    scored = heedful("evaluate", str(run))
    assert scored.code == 0
    assert "accuracy" in scored.out


def test_whose_tags_are_whose_is_kept_with_the_model(tmp_path: Path) -> None:
    run = train(load_recipe(None, settings_of("coupled", tmp_path / "data")), tmp_path / "run").run
    model, names = load(run).backend.model, load(run).tokenizers.target
    assert isinstance(model, Coupled)
    read = {names.symbol(index): row for index, row in enumerate(model.reads.tolist())}
    assert (read["B-expression"], read["B-target"], read["O"]) == ([1, 0], [0, 1], [0, 0])


def test_a_pair_without_its_second_part(tmp_path: Path, heedful: Callable) -> None:
    run = train(load_recipe(None, settings_of("inference", tmp_path / "data")), tmp_path / "run").run
    (tmp_path / "one").write_text("only a premise\n")
    outcome = heedful("translate", str(run), str(tmp_path / "one"))
    assert outcome.code == 1
    assert f"{tmp_path / 'one'}:1: a premise and a hypothesis are 2 parts, but here are 1." in outcome.err
    assert "Parts are told apart by tokenizer.source.separator" in outcome.err
