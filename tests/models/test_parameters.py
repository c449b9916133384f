"""How many numbers a model has: closed forms, the paper's column, and what may not change the count."""

import pytest
import torch
from tests.models.tiny import VOCABULARY, tiny_config, tiny_model

from heedful.models.kinds import build_model
from heedful.models.transformer import DecoderLayer, EncoderLayer, Transformer
from heedful.models.transformer_config import TransformerConfig
from heedful.models.weights import count_parameters

PAPER: dict[str, object] = {"norm": "post", "activation": "relu"}


def count(vocabulary: int, changes: dict[str, object]) -> int:
    with torch.device("meta"):
        return count_parameters(
            build_model(TransformerConfig.model_validate({**PAPER, **changes}), vocabulary, vocabulary)
        )


def paper_layers(changes: dict[str, object]) -> tuple[int, int]:
    config = TransformerConfig.model_validate({**PAPER, **changes})
    with torch.device("meta"):
        encoder, decoder = (sum(p.numel() for p in kind(config).parameters()) for kind in (EncoderLayer, DecoderLayer))
    return encoder, decoder


def test_layers_with_attention_biases() -> None:
    assert paper_layers({"attention_bias": True}) == (3_152_384, 4_204_032)


def test_layers_as_in_the_paper() -> None:
    """Four biases of 512 fewer in each attention."""
    assert paper_layers({}) == (3_152_384 - 4 * 512, 4_204_032 - 2 * 4 * 512)


def test_tied_base() -> None:
    assert count(37_000, {"attention_bias": True}) == 63_082_496
    assert count(37_000, {}) == 63_082_496 - 18 * 4 * 512


def test_torch_has_two_final_norms_more() -> None:
    with torch.device("meta"):
        theirs = sum(p.numel() for p in torch.nn.Transformer(batch_first=True).parameters())
    assert theirs == count(37_000, {"attention_bias": True}) - 37_000 * 512 + 2 * 1024


@pytest.mark.parametrize(
    ("changes", "millions"),
    [
        ({}, 65.0),
        ({"n_heads": 1}, 65.0),
        ({"d_k": 16, "d_v": 64}, 57.9),
        ({"d_k": 32, "d_v": 64}, 60.3),
        ({"n_encoder_layers": 2, "n_decoder_layers": 2}, 35.6),
        ({"n_encoder_layers": 4, "n_decoder_layers": 4}, 50.3),
        ({"n_encoder_layers": 8, "n_decoder_layers": 8}, 79.7),
        ({"d_model": 256}, 27.8),
        ({"d_model": 1024}, 167.7),
        ({"d_ff": 4096}, 90.2),
    ],
    ids=str,
)
def test_column_of_table_3(changes: dict[str, object], millions: float) -> None:
    """With the 40.7 thousand entries that the base row's 65 million imply."""
    assert count(40_700, {**changes, "attention_bias": True}) / 1e6 == pytest.approx(millions, abs=0.1)


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8, 16, 32])
def test_heads_do_not_count(n_heads: int) -> None:
    assert count(1000, {"n_heads": n_heads}) == count(1000, {})


class TestTies:
    @pytest.mark.parametrize(("tie", "matrices"), [("all", 1), ("decoder", 2), ("none", 3)])
    def test_matrices(self, tie: str, matrices: int) -> None:
        model = tiny_model({"tie": tie})
        weights = [model.embed_source.weight, model.embed_target.weight, model.output_weight()]
        assert len({weight.data_ptr() for weight in weights}) == matrices
        assert count_parameters(model) - count_parameters(tiny_model()) == (matrices - 1) * VOCABULARY * 12
        assert (model.output_weight() is model.embed_target.weight) == (tie != "none")

    def test_two_vocabularies_cannot_be_one(self) -> None:
        with pytest.raises(
            ValueError, match='`tie` = "all" shares one matrix, but the vocabularies have 11 and 9 entries'
        ):
            Transformer(tiny_config(), 11, 9)

    def test_two_vocabularies_apart(self) -> None:
        model = build_model(tiny_config({"tie": "decoder"}), 11, 9)
        assert model.output_weight().shape == (9, 12)

    def test_a_matrix_that_is_only_read_has_the_scale_of_logits(self) -> None:
        """The output never multiplies by sqrt(d_model), tied or not."""
        model = tiny_model()
        hidden = torch.randn(3, 12, dtype=torch.float64)
        torch.testing.assert_close(model.logits(hidden), hidden @ model.embed_target.weight.T)


def test_the_seed_decides_the_weights() -> None:
    def weights(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.cat([p.flatten() for p in build_model(tiny_config(), 11, 11).parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_heads_must_fit() -> None:
    with pytest.raises(ValueError, match=r"`n_heads` must divide `d_model` \(12\), but is 5"):
        tiny_config({"n_heads": 5})


@pytest.mark.parametrize("missing", ["norm", "activation"])
def test_what_good_codebases_disagree_on_has_no_default(missing: str) -> None:
    with pytest.raises(ValueError, match=missing):
        TransformerConfig.model_validate({key: value for key, value in PAPER.items() if key != missing})
