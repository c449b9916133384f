"""Models of stories on the main road: trained, asked, scored, inspected, and refused where they cannot go."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import TRAINING

from heedful.errors import ConfigError, HeedfulError
from heedful.export.targets import check_expressible
from heedful.models.bundle import load_bundle
from heedful.pipeline.load import load
from heedful.pipeline.train import train
from heedful.recipe import tables
from heedful.recipe.recipe import load_recipe

KINDS = {
    "over": ("model.kind=reader", "model.attention=over", "model.d_hidden=16"),
    "sum": ("model.kind=reader", "model.attention=sum", "model.d_hidden=16"),
    "hops": ("model.kind=memory", "model.empty_slots=0.1", "tokenizer.joint=false"),
    "key-value": ("model.kind=memory", "model.values=last-word", "model.n_hops=2", "tokenizer.joint=false"),
    "no hops": ("model.kind=memory", "model.n_hops=0", "tokenizer.joint=false"),
}
READING = (
    "tokenizer.source.kind=words",
    "tokenizer.source.separator=|||",
    "training.label_smoothing=0",
    "training.select=accuracy",
    "model.d_model=16",
    "evaluation.metrics=['accuracy']",
    "evaluation.bootstrap_samples=20",
)
STORY = "ann in hall ||| bob in garden ||| where ann"


def files(folder: Path) -> list[str]:
    settings = []
    for seed, (split, count) in enumerate((("train", 200), ("dev", 12), ("test", 12))):
        chance, lines = random.Random(seed), []
        for _ in range(count):
            one, other = (chance.choice(("hall", "garden", "office")) for _ in range(2))
            asked, answer = chance.choice((("ann", one), ("bob", other)))
            lines.append(f"ann in {one} ||| bob in {other} ||| where {asked}\t{answer}\n")
        (folder / f"{split}.tsv").write_text("".join(lines))
        settings.append(f"data.{split}=['{folder}/{split}.tsv']")
    return [*settings, "data.allow_overlap=true"]


@pytest.mark.parametrize("kind", KINDS)
def test_trains_answers_and_is_inspected(kind: str, tmp_path: Path, heedful: Callable) -> None:
    recipe = load_recipe(None, [*files(tmp_path), *TRAINING, *READING, *KINDS[kind]])
    run = train(recipe, tmp_path / "run").run
    assert recipe.model.summary in (run / "model" / "README.md").read_text("utf-8")
    assert all(len(found.text.split()) == 1 for found in load(run).translate([STORY, f"{STORY} now", "ann ||| where"]))
    with pytest.raises(HeedfulError, match="Line 2: a story and a question are 2 parts or more, but here is 1"):
        load(run).translate([STORY, "where bob"])
    scored = heedful("evaluate", str(run))
    assert scored.code == 0
    assert "accuracy" in scored.out
    outcome = heedful("inspect", str(run), STORY)
    if kind == "no hops":
        assert "This model has no attention to show." in outcome.err
    else:
        assert (outcome.code, outcome.err) == (0, "")
        assert all(word in outcome.out for word in STORY.split() if word != "|||")
        page = tmp_path / "page.html"
        assert heedful("inspect", str(run), STORY, "--kind", "reader", "--html", str(page)).code == 0
        assert '"reader.0.read"' in page.read_text("utf-8")
    with pytest.raises(ConfigError, match=f'cannot express this model: kind = "{recipe.model.kind}"'):
        check_expressible(load_bundle(run / "model", tables.KINDS), "onnx", "float32")
