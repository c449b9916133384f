"""Every kind of positions to every target: the same texts and log-probabilities, or a refusal by name."""

from pathlib import Path
from typing import get_args

import pytest
from tests.export.little_models import LINES, random_bundle

from heedful.errors import ConfigError
from heedful.export.targets import TARGETS, export_bundle, target_module
from heedful.models.transformer_config import TransformerConfig

KINDS: dict[str, dict[str, object]] = {
    "sinusoidal": {},
    "t2t": {},
    "learned": {"max_positions": 64},
    "relative": {"clip_distance": 3},
    "t5": {"n_buckets": 6, "max_distance": 5},
    "rotary": {},
    "alibi": {},
    "none": {},
}
PAIRS = [(kind, target) for kind in KINDS for target in TARGETS]
HERE = {"ctranslate2": {"sinusoidal", "t2t", "learned", "none"}, "huggingface": {"sinusoidal", "t2t", "learned"}}


def test_every_kind_is_in_the_table() -> None:
    assert set(KINDS) == set(get_args(TransformerConfig.model_fields["positions"].annotation))


@pytest.mark.parametrize(("kind", "target"), PAIRS, ids=[f"{kind} to {target}" for kind, target in PAIRS])
def test_works_or_is_refused(kind: str, target: str, tmp_path: Path) -> None:
    bundle = random_bundle(model={"positions": kind, "norm": "pre", "n_encoder_layers": 2, **KINDS[kind]})
    out = tmp_path / "out"
    if kind in HERE.get(target, KINDS):
        parity = export_bundle(bundle, out, target, "float32", LINES)
        assert parity.equal == parity.lines == len(LINES)
        assert parity.tokens > 20
        assert parity.largest_log_p_difference < 1e-4
    else:
        with pytest.raises(ConfigError, match=rf'{target} cannot express this model: positions = "{kind}"\.'):
            export_bundle(bundle, out, target, "float32", LINES)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_vectors_of_distances_on_values_too(norm: str, tmp_path: Path) -> None:
    model = {"positions": "relative", "clip_distance": 2, "relative_values": True, "norm": norm, "d_v": 5}
    parity = export_bundle(random_bundle(model=model), tmp_path / "out", "onnx", "float32", LINES)
    assert parity.equal == len(LINES)


@pytest.mark.parametrize("kind", ["relative", "t5", "rotary", "alibi", "none"])
def test_rounded_to_int8(kind: str, tmp_path: Path) -> None:
    """Wide enough that rounding changes little."""
    model = {"positions": kind, "norm": "pre", "d_model": 64, "d_ff": 64, **KINDS[kind]}
    parity = export_bundle(random_bundle(model=model), tmp_path / "out", "onnx", "int8", LINES)
    assert parity.largest_log_p_difference < target_module("onnx").TOLERANCES["int8"].log_p
