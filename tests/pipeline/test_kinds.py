"""Each kind of model on the main road: trained, translated, inspected, and refused where it cannot go."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import MEASURING, QUICK, TRAINING, WORDS, little_run, write_pairs

from heedful.errors import ConfigError
from heedful.export.targets import check_expressible
from heedful.models.bundle import load_bundle
from heedful.models.rnn_config import RNNConfig
from heedful.pipeline.load import load
from heedful.pipeline.train import train
from heedful.recipe.recipe import Recipe, load_recipe, stored_recipe
from heedful.trace import check_trace

KINDS = {
    "none": ("model.kind=rnn", "model.attention=none", "model.d_hidden=16"),
    "bahdanau": ("model.kind=rnn", "model.attention=bahdanau", "model.d_hidden=16"),
    "luong": ("model.kind=rnn", "model.attention=luong", "model.d_hidden=16", "model.input_feeding=true"),
    "convs2s": ("model.kind=convs2s", "model.d_hidden=16", "model.n_encoder_layers=1", "model.n_decoder_layers=1"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_trains_translates_and_is_inspected(kind: str, tmp_path: Path, heedful: Callable) -> None:
    settings = [*write_pairs(tmp_path / "data"), *TRAINING, *MEASURING, *WORDS, *QUICK, "model.d_model=16"]
    recipe: Recipe = load_recipe(None, [*settings, *KINDS[kind], "model.tie=all"])
    run = train(recipe, tmp_path / "run").run
    assert stored_recipe(run).model == recipe.model
    assert recipe.model.summary in (run / "model" / "README.md").read_text("utf-8")
    assert len(load(run).translate(["a b c", "d"])) == 2
    outcome = heedful("inspect", str(run), "a b c")
    if kind == "none":
        assert "This model has no attention to show." in outcome.err
    else:
        assert outcome.code == 0
        assert heedful("align", str(run), *_pair(tmp_path)).code == 0
    with pytest.raises(ConfigError, match=f'cannot express this model: kind = "{recipe.model.kind}"'):
        check_expressible(load_bundle(run / "model"), "onnx", "float32")


@pytest.mark.parametrize("positions", ["relative", "t5", "rotary", "alibi", "none"])
def test_positions_on_the_main_road(positions: str, tmp_path: Path, heedful: Callable) -> None:
    """Trained in bfloat16, averaged over checkpoints, kept as a bundle, searched in each precision, and looked into."""
    run = little_run(tmp_path, f"model.positions={positions}", "training.precision=bfloat16")
    loaded, lines = load(run), ["a b c", "d", "b a d c b a"]
    for precision in ("float32", "bfloat16", "int8"):
        engine = loaded.with_search({"precision": precision, "beam": 3})
        together = [output.text for output in engine.translate(lines)]
        assert together == [engine.translate([line])[0].text for line in lines]
    trace = check_trace(loaded.trace("a b c", "c b a"))
    assert [found.kind for found in trace.maps] == ["encoder.self", "decoder.self", "decoder.cross"]
    assert heedful("inspect", str(run), "a b c").code == 0
    assert heedful("average", str(run), "--last", "2").code == 0


def _pair(folder: Path) -> list[str]:
    paths = [folder / "one.src", folder / "one.tgt"]
    for path, text in zip(paths, ("a b c", "c b a"), strict=True):
        path.write_text(f"{text}\n")
    return [str(path) for path in paths]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention": "none", "score": "dot"}, '`score` is of `attention` = "luong", but that is "none"'),
        ({"attention": "bahdanau", "input_feeding": True}, "`input_feeding` is of `attention`"),
        ({"attention": "bahdanau", "window": "local-p"}, "`window` is of `attention`"),
        ({"attention": "luong", "feedback": False}, '`feedback` is of `attention` = "none", but that is "luong"'),
        ({"attention": "none", "d_hidden": 7}, "`d_hidden` must be even where `bidirectional` is true, but is 7"),
    ],
)
def test_parts_that_do_not_fit(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RNNConfig.model_validate(settings)


def test_an_even_kernel_has_no_middle() -> None:
    overrides = ["preset=convs2s-small", "data.catalogue=copy", "model.kernel=4"]
    with pytest.raises(ConfigError, match="`kernel` must be odd, so that a token is in the middle, but is 4"):
        load_recipe(None, overrides)
