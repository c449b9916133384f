"""A model made ready for search: the same function, prepared once, and anew when the weights change."""

import math
from collections.abc import Mapping

import pytest
import torch
from tests.models.tiny import EVERY_VARIANT, PAIRS, batch_of, tiny_model
from torch import nn

from heedful.decoding.ensemble import Ensemble
from heedful.errors import ConfigError
from heedful.layers.inference_linear import BFloat16Linear, Int8Linear, PackedLinear, Precision
from heedful.models.inference import PreparedCopies, SearchableModel, for_inference, searchable
from heedful.models.interface import Seq2Seq

KINDS: dict[Precision, type[nn.Module]] = {"float32": PackedLinear, "bfloat16": BFloat16Linear, "int8": Int8Linear}
EVERY_PRECISION = pytest.mark.parametrize("precision", list(KINDS))


@torch.inference_mode()
def logits(model: Seq2Seq) -> torch.Tensor:
    batch = batch_of(PAIRS)
    return model.logits(model(batch.src, batch.src_mask, batch.tgt_in))


@torch.inference_mode()
def found(ready: SearchableModel) -> torch.Tensor:
    batch = batch_of(PAIRS)
    return ready.readout(ready.model(batch.src, batch.src_mask, batch.tgt_in))


@EVERY_VARIANT
def test_float32_is_the_same_function(variant: Mapping[str, object]) -> None:
    model = tiny_model(variant).float()
    torch.testing.assert_close(found(searchable(model, "float32")), logits(model), rtol=1e-4, atol=1e-4)


@EVERY_VARIANT
def test_double_stays_double(variant: Mapping[str, object]) -> None:
    model = tiny_model(variant)
    torch.testing.assert_close(found(searchable(model, "float32")), logits(model))


@EVERY_PRECISION
@EVERY_VARIANT
def test_steps_equal_the_whole(variant: Mapping[str, object], precision: Precision) -> None:
    model, batch = for_inference(tiny_model(variant), precision), batch_of(PAIRS)
    memory = model.encode(batch.src, batch.src_mask)
    whole = model.decode(memory, batch.tgt_in)
    state = model.start(memory, 1)
    for position in range(batch.tgt_in.shape[1]):
        hidden, state = model.step(state, batch.tgt_in[:, position])
        torch.testing.assert_close(hidden, whole[:, position])


@EVERY_PRECISION
@pytest.mark.parametrize("biased", [True, False])
def test_logits_of_some_ids_only(precision: Precision, biased: bool) -> None:
    plain = tiny_model({"output_bias": biased}).float()
    hidden, ids = torch.randn(7, 12, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 3, 9, 5])
    readout = searchable(plain, precision).readout
    with torch.inference_mode():
        torch.testing.assert_close(readout.among(ids)(hidden), readout(hidden)[:, ids])
        if precision != "int8":  # bfloat16 leaves the output layer in float32
            torch.testing.assert_close(readout(hidden), plain.logits(hidden))


@EVERY_PRECISION
def test_an_ensemble_is_that_of_its_prepared_members(precision: Precision) -> None:
    members = [tiny_model(seed=seed).float() for seed in (0, 1)]
    together = searchable(Ensemble(members), precision)
    log_p = [found(searchable(member, precision)).log_softmax(dim=-1) for member in members]
    torch.testing.assert_close(found(together), torch.stack(log_p).logsumexp(dim=0) - math.log(2))


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_low_precision_is_near(precision: Precision) -> None:
    model = tiny_model().float()
    plain, narrow = logits(model), found(searchable(model, precision))
    assert 0 < (narrow - plain).abs().max() < 0.05 * plain.abs().max()


@EVERY_PRECISION
def test_every_linear_map_and_no_other_number(precision: Precision) -> None:
    model = tiny_model({"attention_bias": True})
    ready, readout = searchable(model, precision)
    assert type(readout) is KINDS["float32" if precision == "bfloat16" else precision]
    assert not any(isinstance(module, nn.Linear) for module in ready.modules())
    n_maps = sum(isinstance(module, nn.Linear) for module in model.modules())
    kinds = [type(module) for module in ready.modules() if isinstance(module, tuple(KINDS.values()))]
    wanted = [KINDS[precision]] * n_maps
    assert sorted(kind.__name__ for kind in kinds) == sorted(kind.__name__ for kind in wanted)
    mine = {parameter.data_ptr() for parameter in model.parameters()}
    assert {parameter.data_ptr() for parameter in ready.parameters()} <= mine


@EVERY_PRECISION
def test_the_model_stays_as_it_is(precision: Precision) -> None:
    model = tiny_model().train()
    before = logits(model)
    assert not for_inference(model, precision).training
    assert model.training
    assert torch.equal(logits(model), before)


class TestAnotherEngine:
    """A model whose numbers are elsewhere."""

    @staticmethod
    def engine() -> Seq2Seq:
        model = tiny_model()
        for module in model.modules():
            for name in list(module._parameters):
                delattr(module, name)
        return model

    def test_is_what_it_is(self) -> None:
        model = self.engine()
        assert for_inference(model, "float32") is model
        assert PreparedCopies(model, for_inference).ready("float32") is model

    def test_has_its_own_precision(self) -> None:
        with pytest.raises(ConfigError, match=r'search\.precision = "int8", but this engine has its own') as caught:
            for_inference(self.engine(), "int8")
        assert caught.value.hint == "Leave it out: an export has the precision that it was made with."


class TestPrepared:
    def test_is_made_once(self) -> None:
        prepared = PreparedCopies(tiny_model().float(), searchable)
        assert prepared.ready("float32") is prepared.ready("float32")
        narrow = prepared.ready("bfloat16")
        assert narrow is not prepared.ready("float32")
        assert prepared.ready("bfloat16") is narrow

    @pytest.mark.parametrize("precision", ["float32", "int8"])
    def test_follows_training(self, precision: Precision) -> None:
        """A fused optimiser's writes are not counted, but training mode tells."""
        model = tiny_model().float()
        prepared = PreparedCopies(model, searchable)
        before = found(prepared.ready(precision))
        assert not model.training
        model.train()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
        batch = batch_of(PAIRS)
        model.logits(model(batch.src, batch.src_mask, batch.tgt_in)).sum().backward()
        optimizer.step()
        after = found(prepared.ready(precision))
        assert not torch.allclose(after, before)
        torch.testing.assert_close(after, found(searchable(model, precision)))

    def test_follows_a_write(self) -> None:
        model = tiny_model()
        prepared = PreparedCopies(model, searchable)
        before = found(prepared.ready("float32"))
        with torch.no_grad():
            next(iter(model.decoder)).feed_forward.widen.weight.mul_(3.0)
        assert not torch.allclose(found(prepared.ready("float32")), before)

    def test_follows_a_change_of_type(self) -> None:
        model = tiny_model()
        prepared = PreparedCopies(model, searchable)
        assert found(prepared.ready("float32")).dtype == torch.float64
        model.float()
        assert found(prepared.ready("float32")).dtype == torch.float32

    def test_weights_whose_writes_torch_does_not_count(self) -> None:
        with torch.inference_mode():
            model = tiny_model()
        prepared = PreparedCopies(model, searchable)
        first = found(prepared.ready("float32"))
        with torch.inference_mode():
            model.embed_target.weight.add_(1.0)
        assert not torch.allclose(found(prepared.ready("float32")), first)
