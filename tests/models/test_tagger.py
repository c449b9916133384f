"""The tagger: one label a word, whatever stands beside the sentence in its batch."""

import numpy as np
import pytest
import torch
from torch import Tensor

from heedful.models.kinds import build_model
from heedful.models.recording import recorded_maps
from heedful.models.tagger import Tagger
from heedful.models.tagger_config import TaggerConfig
from heedful.text.vocabulary import EOS, PAD

TAGGERS = {
    "none": {"encoder": "none"},
    "gru": {"encoder": "gru"},
    "lstm, forward": {"encoder": "lstm", "bidirectional": False, "n_layers": 2},
    "transformer": {"encoder": "transformer", "n_layers": 2},
    "transformer, mixed": {"encoder": "transformer", "n_layers": 3, "layer_mix": True},
    "gru, mixed": {"encoder": "gru", "n_layers": 2, "layer_mix": True},
}
EVERY = pytest.mark.parametrize("name", TAGGERS)
SENTENCE = [7, 5, 9, 5, 6, EOS]


def tagger(name: str) -> Tagger:
    torch.manual_seed(0)
    states = {"d_hidden": 10} if TAGGERS[name]["encoder"] in ("gru", "lstm") else {}
    config = TaggerConfig.model_validate({"d_model": 12, "dropout": 0.0, **states, **TAGGERS[name]})
    model = build_model(config, 20, 9)
    assert isinstance(model, Tagger)
    return model.double().eval()


def batch(*sentences: list[int], padding: int = 0) -> tuple[Tensor, Tensor]:
    width = max(map(len, sentences)) + padding
    src = torch.tensor([[*sentence, *[PAD] * (width - len(sentence))] for sentence in sentences])
    return src, src != PAD


@EVERY
@pytest.mark.parametrize("padding", [0, 1, 7, 50])
def test_padding_has_no_part(name: str, padding: int) -> None:
    model = tagger(name)
    alone = model.predict(*batch(SENTENCE))
    beside = model.predict(*batch(SENTENCE, [8, 4, 4, 4, 11, 12, 13, EOS], padding=padding))
    assert beside.mask[0].tolist() == [True] * 5 + [False] * (2 + padding)
    torch.testing.assert_close(beside.logits[0, :5], alone.logits[0], atol=1e-10, rtol=0)


@EVERY
def test_a_place_is_a_word(name: str) -> None:
    model = tagger(name)
    answer = model.predict(*batch(SENTENCE, [4, EOS]))
    assert answer.logits.shape == (2, 5, 9)
    assert answer.mask.sum(dim=1).tolist() == [5, 1]
    assert model.output_lengths(np.array([5, 1])).tolist() == [5, 1]


@pytest.mark.parametrize(("name", "sees"), [("none", [2]), ("gru", [0, 1, 2, 3, 4]), ("lstm, forward", [0, 1, 2])])
def test_which_words_a_label_depends_on(name: str, sees: list[int]) -> None:
    model = tagger(name)
    src, mask = batch(SENTENCE)
    usual = model.predict(src, mask).logits[0, 2]
    for place in range(5):
        changed = src.clone()
        changed[0, place] = 15
        moved = not torch.equal(model.predict(changed, mask).logits[0, 2], usual)
        assert moved == (place in sees), place


def test_mixing_layers_starts_as_their_mean() -> None:
    model = tagger("gru, mixed")
    src, mask = batch(SENTENCE)
    layers = model.encoder(model.embed(src), mask)
    mean = sum(layers) / len(layers)
    torch.testing.assert_close(model.predict(src, mask).logits, model.output(mean)[:, :-1])


def test_attention_maps_are_the_encoders() -> None:
    model = tagger("transformer")
    with recorded_maps(model) as maps:
        model.predict(*batch(SENTENCE))
    assert [one.name for one in maps] == ["encoder.0.self", "encoder.1.self"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": "transformer", "d_model": 10}, r"`n_heads` must divide `d_model` \(10\), but is 4"),
        ({"encoder": "gru", "d_hidden": 7}, "`d_hidden` must be even where `bidirectional` is true, but is 7"),
    ],
)
def test_widths_that_do_not_fit(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TaggerConfig.model_validate(settings)


@pytest.mark.parametrize(
    ("encoder", "setting"),
    [
        ("none", {"d_hidden": 10}),
        ("transformer", {"bidirectional": False}),
        ("none", {"n_layers": 2}),
        ("gru", {"n_heads": 2}),
        ("none", {"layer_mix": True}),
    ],
)
def test_a_setting_of_another_encoder_is_refused(encoder: str, setting: dict[str, object]) -> None:
    (name,) = setting
    with pytest.raises(ValueError, match=f"`{name}` is of `encoder` = .*: leave it out, or set it to"):
        TaggerConfig.model_validate({"encoder": encoder, **setting})
