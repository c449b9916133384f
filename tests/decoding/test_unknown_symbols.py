"""What no model can write is refused and never written as ⁇: prefixes, phrases, samples; blank lines stay blank."""

from pathlib import Path

import pytest
import torch
from tests.pipeline.little import untrained_bundle

from heedful.decoding.rules import OutputRules
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError
from heedful.pipeline.engines import EngineChoice, open_engine
from heedful.pipeline.load import load
from heedful.text.vocabulary import UNK, UNKNOWN

PAIRS = [("abc de", "cba ed"), ("fghi", "ihgf")]
KINDS = {
    "characters": ("tokenizer.source.kind=characters",),
    "words": ("tokenizer.source.kind=words",),
    "subwords": ("tokenizer.source.kind=sentencepiece", "tokenizer.source.vocab_size=14"),
}


@pytest.fixture(scope="module", params=KINDS)
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_bundle(tmp_path_factory.mktemp(request.param) / "model", PAIRS, *KINDS[request.param])


@pytest.mark.parametrize("engine", [None, "ctranslate2", "onnx"])
def test_a_prefix_that_cannot_be_written(engine: str | None, bundle: Path) -> None:
    with (
        open_engine(bundle, EngineChoice(engine), []) as opened,
        pytest.raises(ConfigError, match=r"Line 1: this model cannot write 'ab☃': it lacks a symbol of it\.") as caught,
    ):
        opened.engine.translate(["abc"], prefixes=["ab☃"])
    assert caught.value.hint == "Write it with symbols of the training data."


@pytest.mark.parametrize(
    "rules",
    [
        OutputRules(["☃"]),
        OutputRules(["abc"], ["abc"]),
        OutputRules(["\u200b"]),
        OutputRules([], ["\u00ad"]),
        OutputRules([" "]),
    ],
)
def test_phrases_that_cannot_be(rules: OutputRules, bundle: Path) -> None:
    with pytest.raises(ConfigError):
        load(bundle).translate(["abc"], rules=[rules])


@pytest.mark.parametrize("engine", [None, "ctranslate2", "onnx"])
def test_a_line_that_shows_nothing_stays_blank(engine: str | None, bundle: Path) -> None:
    lines = ["\u200b", "\u00ad", "\ufeff \u200b", "\u2028", "\u2060\t", "\u200d", "\x01", "abc"]
    with open_engine(bundle, EngineChoice(engine), []) as opened:
        *blank, other = opened.engine.translate(lines)
    assert [(one.text, one.score, one.unknown) for one in blank] == [("", 0.0, 0)] * 7
    assert other.tokens


@pytest.fixture
def in_love_with_the_unknown(bundle: Path) -> Translator:
    """A model for which each next symbol is most probably the unknown one."""
    translator = load(bundle)
    model = translator.backend.decoder("tests")
    *_, last_norm = (module for module in model.modules() if isinstance(module, torch.nn.LayerNorm))
    with torch.no_grad():
        last_norm.bias.fill_(0.5)  # each state points where UNK is
        model.embed_target.weight[UNK] = 0.5
    return translator


@pytest.mark.parametrize(
    "changes",
    [
        {"temperature": 1.0},
        {"temperature": 3.0, "top_k": 3},
        {"samples": 16},
        {"samples": 8, "candidates": "beam", "beam": 3},
        {"samples": 8, "candidates": "both", "beam": 3},
    ],
)
def test_what_is_drawn_is_never_the_unknown_symbol(changes: dict, in_love_with_the_unknown: Translator) -> None:
    lines = ["abc de", "fghi", "abc", "de", "ab ☃"]
    found = in_love_with_the_unknown.with_search({**changes, "max_extra": 10}).translate(lines)
    assert [one.text for one in found if UNKNOWN in one.text] == []
    forbidding = [OutputRules(forbid=["fghi"])] * len(lines)
    found = in_love_with_the_unknown.with_search(changes).translate(lines, rules=forbidding)
    assert [one.text for one in found if UNKNOWN in one.text] == []


def test_the_model_itself_would_write_it(in_love_with_the_unknown: Translator) -> None:
    """Or the test above shows nothing."""
    found = in_love_with_the_unknown.translate(["abc de", "fghi", "abc", "de"])
    assert any(UNKNOWN in one.text for one in found)
