"""An ensemble of one model, or of the same one twice, is that model; of others, the mean of their probabilities."""

import pytest
import torch
from tests.decoding.letters import TOKENIZERS, translator
from tests.models.tiny import PAIRS, batch_of, tiny_config, tiny_model

from heedful.decoding.config import BeamSearch, with_changes
from heedful.decoding.ensemble import Ensemble, Mean
from heedful.decoding.translator import Translator
from heedful.models.interface import Seq2Seq
from heedful.models.transformer import Transformer
from heedful.tasks.table import translator_of

LINES = ["a b c", "", "f", "a b c d e f a b c", "c c", "d"]
MEANS = pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
SEARCHES = [{"beam": 1}, {"beam": 3}, {"temperature": 1.0}, {"samples": 5, "utility": "edit"}]


def other_model(seed: int, width: int = 24) -> Transformer:
    """A model of the letters with other weights and another width."""
    torch.manual_seed(seed)
    config = tiny_config({"n_encoder_layers": 1, "n_decoder_layers": 2, "d_model": width})
    return Transformer(config, len(TOKENIZERS.target), len(TOKENIZERS.target)).double()


def of(models: list[Seq2Seq], mean: Mean = "arithmetic", **search: object) -> Translator:
    settings = with_changes(BeamSearch(beam=3, max_extra=3), search)
    return translator_of(Ensemble(models, mean), TOKENIZERS, settings)


@MEANS
@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("search", SEARCHES, ids=["greedy", "beam", "sampling", "mbr"])
def test_the_same_model_is_the_model(mean: Mean, copies: int, search: dict[str, object]) -> None:
    alone = translator(search)
    together = of([alone.backend.model] * copies, mean, **search)
    for left, right in zip(alone.translate(LINES), together.translate(LINES), strict=True):
        assert left.text == right.text
        assert left.score == pytest.approx(right.score, abs=1e-5)
        assert [t.log_p for t in left.tokens] == pytest.approx([t.log_p for t in right.tokens], abs=1e-5)
    for left, right in zip(alone.score(LINES, LINES[::-1]), together.score(LINES, LINES[::-1]), strict=True):
        assert left.log_p == pytest.approx(right.log_p, abs=1e-5)


def next_probabilities(model: Seq2Seq) -> torch.Tensor:
    """The distribution at every place of the pairs, in float64."""
    batch = batch_of(PAIRS)
    return model.logits(model(batch.src, batch.src_mask, batch.tgt_in)).double().softmax(dim=-1)


def test_means() -> None:
    models = [tiny_model(seed=1), tiny_model({"d_model": 18, "norm": "pre"}, seed=2), tiny_model(seed=3)]
    each = torch.stack([next_probabilities(model) for model in models])
    torch.testing.assert_close(next_probabilities(Ensemble(models)), each.mean(0), atol=1e-6, rtol=0)
    product = each.prod(0) ** (1 / 3)
    geometric = product / product.sum(-1, keepdim=True)
    torch.testing.assert_close(next_probabilities(Ensemble(models, "geometric")), geometric, atol=1e-6, rtol=0)


@MEANS
def test_whole_is_steps(mean: Mean) -> None:
    model = Ensemble([tiny_model(seed=1), tiny_model({"d_model": 18}, seed=2)], mean).eval()
    batch = batch_of(PAIRS)
    memory = model.encode(batch.src, batch.src_mask)
    whole = model.logits(model.decode(memory, batch.tgt_in))
    state = model.start(memory, 1)
    for position in range(batch.tgt_in.shape[1]):
        hidden, state = model.step(state, batch.tgt_in[:, position])
        torch.testing.assert_close(model.logits(hidden), whole[:, position], atol=1e-5, rtol=0)


@MEANS
@pytest.mark.parametrize("search", SEARCHES, ids=["greedy", "beam", "sampling", "mbr"])
def test_lines_in_any_batch(mean: Mean, search: dict[str, object]) -> None:
    """The members' states are reordered together: each line is found alone as in a batch, with the score of scoring."""
    made = of([translator().backend.model, other_model(5)], mean, **search)
    found = made.translate(LINES)
    for line, one in zip(LINES, found, strict=True):
        [alone] = made.translate([line])
        assert (alone.text, alone.n_best[0].log_p) == (one.text, pytest.approx(one.n_best[0].log_p, abs=1e-4))
        if one.tokens and "⁇" not in one.text:
            assert made.score([line], [one.text])[0].log_p == pytest.approx(one.n_best[0].log_p, abs=1e-4)


def test_differs_from_its_members() -> None:
    models: list[Seq2Seq] = [translator().backend.model, other_model(5)]
    scores = [of(some).score(["a b c"], ["d e"])[0].log_p for some in ([models[0]], [models[1]], models)]
    assert min(scores[:2]) < scores[2] < max(scores[:2])


def test_reads_what_all_can_read() -> None:
    learned = {"positions": "learned", "tie": "decoder"}
    models = [tiny_model({**learned, "max_positions": n}) for n in (9, 7)]
    assert Ensemble(models).longest == 7
    assert Ensemble([models[0], tiny_model()]).longest == 9
    assert Ensemble([tiny_model()]).longest is None


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"`models` must be at least one, all with one target vocabulary, but are of"):
        Ensemble([])
    with pytest.raises(ValueError, match="but are of 11, 12 ids"):
        Ensemble([tiny_model(), Transformer(tiny_config(), 12, 12)])
    with pytest.raises(ValueError, match="no output matrix of its own"):
        Ensemble([tiny_model()]).output_weight()
    with pytest.raises(ValueError, match="Attention maps are those of one model"):
        of([other_model(1)]).trace("a b", "c")
