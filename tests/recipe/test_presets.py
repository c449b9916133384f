"""Presets against the sources that they name."""

import pytest

from heedful.errors import ConfigError
from heedful.recipe.describe import resolve_named
from heedful.recipe.presets import PRESETS, names, preset_layer
from heedful.recipe.recipe import Recipe


def recipe(name: str) -> Recipe:
    return resolve_named(name).config


@pytest.mark.parametrize("name", names())
def test_every_preset_is_a_valid_recipe_but_for_its_data(name: str) -> None:
    assert recipe(name).preset == name


def test_names_are_described() -> None:
    assert list(names()) == [
        "paper-base",
        "paper-big",
        "t2t-base-v1",
        "t2t-base-v2",
        "t2t-base-v3",
        "multi30k-tiny",
        "character",
        "rnn-plain",
        "rnn-bahdanau",
        "rnn-luong",
        "convs2s-small",
        "tagger",
        "ctc",
        "torch-default",
    ]
    assert all(len(description) > 20 for description in names().values())


def test_paper_base() -> None:
    """[Vaswani 2017, sections 3, 5 and 6.1]"""
    found = recipe("paper-base")
    model, training, search = found.model, found.training, found.search
    assert (model.d_model, model.n_heads, model.d_ff) == (512, 8, 2048)
    assert (model.head_key_width, model.head_value_width) == (64, 64)
    assert (model.n_encoder_layers, model.n_decoder_layers) == (6, 6)
    assert (model.norm, model.activation, model.positions, model.tie) == ("post", "relu", "sinusoidal", "all")
    assert (model.dropout, model.attention_dropout, model.ffn_dropout) == (0.1, 0.0, 0.0)
    assert (training.optimizer_betas, training.optimizer_epsilon) == ((0.9, 0.98), 1e-9)
    assert (training.schedule, training.learning_rate, training.warmup_steps) == ("noam", 1.0, 4000)
    assert (training.max_updates, training.label_smoothing, training.average_last) == (100_000, 0.1, 5)
    assert (search.beam, search.length_penalty, search.max_extra) == (4, 0.6, 50)
    assert (found.tokenizer.joint, found.tokenizer.source.vocab_size) == (True, 37_000)


def test_paper_big() -> None:
    """[Vaswani 2017, Table 3, last row, and section 6.1]"""
    base, big = recipe("paper-base"), recipe("paper-big")
    assert (big.model.d_model, big.model.d_ff, big.model.n_heads, big.model.dropout) == (1024, 4096, 16, 0.3)
    assert (big.training.max_updates, big.training.average_last) == (300_000, 20)
    changed = {"d_model": 512, "d_ff": 2048, "n_heads": 8, "dropout": 0.1}
    assert big.model.model_copy(update=changed) == base.model


def test_t2t_versions() -> None:
    """tensor2tensor's transformer_base_v1, _v2 and _v3; its stored learning rate times 10 is Eq. 3's factor."""
    v1, v2, v3 = (recipe(f"t2t-base-v{version}") for version in (1, 2, 3))
    assert [r.model.norm for r in (v1, v2, v3)] == ["post", "pre", "pre"]
    assert [r.model.attention_dropout for r in (v1, v2, v3)] == [0.0, 0.1, 0.1]
    assert [r.model.ffn_dropout for r in (v1, v2, v3)] == [0.0, 0.1, 0.1]
    assert [r.training.warmup_steps for r in (v1, v2, v3)] == [4000, 8000, 8000]
    assert [r.training.learning_rate for r in (v1, v2, v3)] == [1.0, 2.0, 2.0]
    assert [r.training.optimizer_betas[1] for r in (v1, v2, v3)] == [0.98, 0.98, 0.997]
    for version in (v1, v2, v3):
        assert (version.model.positions, version.training.smoothing_over) == ("t2t", "others")
        assert (version.model.norm_epsilon, version.data.max_length, version.search.max_extra) == (1e-6, 256, 100)


def test_torch_default_is_what_torch_builds() -> None:
    from torch import nn

    torch_model = nn.Transformer(batch_first=True)
    layer = torch_model.encoder.layers[0]
    model = recipe("torch-default").model
    assert (model.d_model, model.n_heads) == (torch_model.d_model, torch_model.nhead)
    assert (model.n_encoder_layers, model.n_decoder_layers) == (
        torch_model.encoder.num_layers,
        torch_model.decoder.num_layers,
    )
    assert model.d_ff == layer.linear1.out_features
    assert model.norm == ("pre" if layer.norm_first else "post")
    assert model.norm_epsilon == layer.norm1.eps
    assert (layer.self_attn.in_proj_bias is not None) == model.attention_bias
    assert (layer.dropout1.p, layer.self_attn.dropout, layer.dropout.p) == (
        model.dropout,
        model.attention_dropout,
        model.ffn_dropout,
    )


def test_unknown_name_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Unknown preset `t2t-base-v4`") as caught:
        preset_layer("t2t-base-v4")
    assert caught.value.hint in {f"Did you mean `t2t-base-v{version}`?" for version in (1, 2, 3)}


def test_unknown_name_near_nothing() -> None:
    with pytest.raises(ConfigError) as caught:
        preset_layer("zzz")
    assert caught.value.hint == f"There are {', '.join(PRESETS)}."


def test_layers_share_nothing() -> None:
    first = preset_layer("paper-base")
    first.values["model"]["d_model"] = 1
    assert preset_layer("paper-base").values["model"]["d_model"] == 512
