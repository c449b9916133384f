"""A bundle of each kind of model is read as it was written, whatever its settings are."""

from pathlib import Path

import pytest
import torch
from tests.gallery.classifiers import VARIANTS, classifier_config

from heedful.models.bundle import Bundle, load_bundle, save_bundle
from heedful.models.config import ModelConfig
from heedful.recipe.tables import KINDS
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

# What has no default, one choice of each; and narrow, so that a size could look impossible beside so few weights.
SMALL: dict[str, dict[str, object]] = {
    "transformer": {"norm": "pre", "activation": "relu", "d_ff": 8, "tie": "decoder"},
    "rnn": {"attention": "bahdanau", "d_hidden": 8},
    "convs2s": {"d_hidden": 8},
    "tagger": {"encoder": "gru", "d_hidden": 8},
    "ctc": {"d_hidden": 8},
    "classifier": {"encoder": "none", "pooling": "max"},
    "pooling-classifier": {"encoder": "disan", "pooling": "source2token"},
    "hierarchical": {"reading": "hierarchical", "d_hidden": 8},
    "inference": {"d_hidden": 8},
    "coupled": {"d_hidden": 8, "label_heads": "one"},
    "reader": {"attention": "over", "d_hidden": 8},
    "memory": {},
}


def check_kept(config: ModelConfig, folder: Path) -> None:
    side = SideConfig(kind="words")
    settings = TokenizerConfig(joint=config.one_vocabulary, source=side, target=None if config.one_vocabulary else side)
    tokenizers = train_tokenizers(settings, [("a b c", "red"), ("b c", "blue")], seed=1)
    torch.manual_seed(1)
    model = KINDS.build(config, len(tokenizers.source), len(tokenizers.target))
    if (name_labels := getattr(model, "name_labels", None)) is not None:
        name_labels([tokenizers.target.symbol(index) for index in range(len(tokenizers.target))])
    save_bundle(
        folder, Bundle(model, tokenizers, {"model": config.model_dump(exclude_none=True)}, config), "# A model\n"
    )
    found = load_bundle(folder, KINDS)
    assert found.config == config
    for name, weight in model.named_parameters():
        assert torch.equal(weight, dict(found.model.named_parameters())[name])


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_each_kind(kind: str, tmp_path: Path) -> None:
    (config,) = [one.config for one in KINDS if one.name == kind]
    check_kept(config.model_validate({"d_model": 8, **SMALL[kind]}), tmp_path / "model")


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_each_pooling(variant: dict[str, object], tmp_path: Path) -> None:
    check_kept(classifier_config(variant), tmp_path / "model")


def test_limits_are_settings() -> None:
    for kind in KINDS:
        assert kind.config.limits <= kind.config.model_fields.keys()
