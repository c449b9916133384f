"""A sentence's output and its score do not depend on the sentences beside it: real ones, in every engine and type.

The weights are random and sharpened, so that a difference in a number would be one in a text.
"""

from functools import cache
from pathlib import Path

import pytest
import torch

from heedful.config import to_tree
from heedful.data.config import DataConfig
from heedful.decoding.config import search_of
from heedful.decoding.translation import Translation
from heedful.decoding.translator import Translator
from heedful.export.targets import open_export, write_export
from heedful.models.bundle import Bundle
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.recipe.splits import load_split
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizer

SENTENCES, LEARN_FROM, VOCABULARY = 66, 1500, 1500
AT_ONCE = 1_000_000  # a budget of tokens that holds all sentences
SIZES = {1: 12, 8: 32, 64: SENTENCES}  # sentences at once, and how many of all are translated so
MODEL = {"d_model": 32, "n_heads": 4, "d_ff": 64, "n_encoder_layers": 1, "n_decoder_layers": 1, "norm": "pre"}
# Of a score, a sum of log-probabilities. Attention adds up in an order that depends on the padding, and a difference in
# the last place of a float32 number can round the next layer's input the other way: by 1/256 of it in bfloat16, or by
# one step of 127 in int8.
TOLERANCE, ROUNDED = 1e-4, {"native bfloat16": 0.1, "native int8": 0.02}


@cache
def sentences(folder: Path) -> tuple[list[str], list[str]]:
    """Those to translate, from the dev split, and those to learn pieces from."""
    data = DataConfig(catalogue="multi30k-en-de", folder=str(folder))
    dev, train = (load_split(data, split) for split in ("dev", "train"))
    taken = [pair.source for pair, _ in zip(dev, range(SENTENCES), strict=False)]
    return taken, [pair.source for pair, _ in zip(train, range(LEARN_FROM), strict=False)]


@pytest.fixture(scope="module")
def lines(shared_data: Path) -> list[str]:
    if not (shared_data / "multi30k").is_dir():
        pytest.skip(f"Multi30k is not at {shared_data / 'multi30k'}")
    return sentences(shared_data / "multi30k")[0]


@pytest.fixture(scope="module")
def bundle(lines: list[str], shared_data: Path) -> Bundle:
    side = SideConfig(kind="sentencepiece", vocab_size=VOCABULARY)
    tokenizer = train_tokenizer(side, sentences(shared_data / "multi30k")[1], seed=1)
    config = TransformerConfig.model_validate({**MODEL, "activation": "relu", "tie": "all"})
    torch.manual_seed(1)
    model = build_model(config, len(tokenizer), len(tokenizer)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter)) if parameter.dim() == 1 else parameter.mul_(2)
    return Bundle(
        model, Tokenizers(tokenizer, tokenizer), {"model": to_tree(config), "search": {"max_extra": 3}}, config
    )


@pytest.fixture(scope="module")
def engines(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Translator]:
    """Everything that translates."""
    plain = translator_of(bundle.model, bundle.tokenizers, search_of(bundle.recipe, "the bundle"))
    found: dict[str, Translator] = {
        f"native {name}": plain.with_search({"precision": name}) for name in ("float32", "bfloat16", "int8")
    }
    for target in ("onnx", "ctranslate2"):
        folder = tmp_path_factory.mktemp(target)
        write_export(bundle, folder, target, "float32")
        found[target] = open_export(folder)  # type: ignore[assignment]
    return found


def in_groups(engine: Translator, lines: list[str], size: int) -> list[Translation]:
    return [one for start in range(0, len(lines), size) for one in engine.translate(lines[start : start + size])]


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", ["native float32", "native bfloat16", "native int8", "onnx", "ctranslate2"])
def test_of_any_size(name: str, beam: int, engines: dict[str, Translator], lines: list[str]) -> None:
    engine = engines[name].with_search({"beam": beam, "max_tokens": AT_ONCE})
    together = engine.translate(lines)
    assert len({found.text for found in together}) > len(lines) // 2  # it says something of its own for most
    tolerance = ROUNDED.get(name, TOLERANCE)
    for size, count in SIZES.items():
        apart = in_groups(engine, lines[:count], size)
        assert [found.text for found in apart] == [found.text for found in together[:count]]
        assert [found.score for found in apart] == pytest.approx([one.score for one in together[:count]], abs=tolerance)
