"""Scheduled sampling: its curves by hand, what it replaces by what, and runs that resume exactly."""

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.gallery.told import A, B, C, Told
from tests.models.rivals import RIVALS, rival
from tests.models.tiny import PAIRS, batch_of, tiny_model
from tests.training.toy import batch_at, held_out_loss, toy, training_config

from heedful.config import parse_overrides, resolve
from heedful.data.batch import Batch, collate
from heedful.errors import ConfigError, Interrupted
from heedful.models.interface import Seq2Seq
from heedful.tasks.table import compute_loss
from heedful.text.vocabulary import BOS, EOS, PAD
from heedful.training.config import Exponential, InverseSigmoid, Linear, TrainingConfig
from heedful.training.scheduled_sampling import ReplacedInputs, mix, p_gold, preview


class TestCurves:
    @pytest.mark.parametrize(
        ("step", "p"),
        [(0, 0.998004), (1000, 0.985437), (2000, 0.901554), (3000, 0.553447), (4000, 0.143639), (5000, 0.022196)],
    )
    def test_inverse_sigmoid(self, step: int, p: float) -> None:
        """[spec C8]"""
        assert p_gold(InverseSigmoid(k=500), step) == pytest.approx(p, abs=5e-7)

    @pytest.mark.parametrize(("step", "p"), [(0, 1.0), (1, 0.9), (2, 0.81), (10, 0.3486784401)])
    def test_exponential(self, step: int, p: float) -> None:
        assert p_gold(Exponential(k=0.9), step) == pytest.approx(p)

    @pytest.mark.parametrize(("step", "p"), [(0, 0.9), (1, 0.85), (10, 0.4), (12, 0.3), (13, 0.3), (10**6, 0.3)])
    def test_linear(self, step: int, p: float) -> None:
        assert p_gold(Linear(k=0.9, c=0.05, floor=0.3), step) == pytest.approx(p)

    def test_inverse_sigmoid_is_a_half_where_its_setting_says(self) -> None:
        assert p_gold(InverseSigmoid(k=100), round(100 * math.log(100))) == pytest.approx(0.5, abs=0.002)

    @given(
        schedule=st.one_of(
            st.builds(InverseSigmoid, k=st.floats(1, 1e6)),
            st.builds(Exponential, k=st.floats(0.01, 0.999)),
            st.builds(Linear, k=st.floats(0.5, 1), c=st.floats(0, 1), floor=st.floats(0, 0.5)),
        ),
        step=st.integers(0, 10**9),
        more=st.integers(0, 10**6),
    )
    def test_is_the_probability_of_gold_so_it_only_falls(
        self, schedule: InverseSigmoid | Exponential | Linear, step: int, more: int
    ) -> None:
        """[spec P42] The curve of the opposite convention would rise."""
        assert 1 >= p_gold(schedule, step) >= p_gold(schedule, step + more) >= 0

    def test_preview(self) -> None:
        changes = {"max_updates": 4000, "scheduled_sampling": {"kind": "linear", "c": 0.0001}}
        assert preview(training_config(changes)) == [
            (1, pytest.approx(0.9999)),
            (1000, pytest.approx(0.9)),
            (2000, pytest.approx(0.8)),
            (3000, pytest.approx(0.7)),
            (4000, pytest.approx(0.6)),
        ]
        assert preview(training_config()) == []
        assert [update for update, _ in preview(training_config({**changes, "max_updates": 2}))] == [1, 2]


class TestSettings:
    def read(self, *overrides: str) -> TrainingConfig:
        return resolve(TrainingConfig, [parse_overrides(overrides)]).config

    def test_left_out_is_off(self) -> None:
        assert self.read().scheduled_sampling is None

    def test_one_override_is_enough(self) -> None:
        assert self.read("scheduled_sampling={k=500.0}").scheduled_sampling == InverseSigmoid(k=500.0)
        found = self.read("scheduled_sampling={kind='linear', c=0.1, prediction='sampled'}").scheduled_sampling
        assert found == Linear(c=0.1, prediction="sampled")

    @pytest.mark.parametrize(
        ("overrides", "message"),
        [
            (["scheduled_sampling.kind=linear"], "`scheduled_sampling.c` is required"),
            (["scheduled_sampling={kind='linear', c=0.1, k=0.2, floor=0.5}"], r"`floor` \(0.5\) exceeds `k` \(0.2\)"),
            (["scheduled_sampling={kind='sigmoid', k=5.0}"], "`scheduled_sampling.kind` cannot be 'sigmoid'"),
            (["scheduled_sampling={kind='exponential', k=1.5}"], "`scheduled_sampling.k` must be less than 1"),
            (["scheduled_sampling=true"], "`scheduled_sampling` must be a table"),
        ],
    )
    def test_refusals(self, overrides: list[str], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            self.read(*overrides)


def always(p: float, prediction: str = "argmax", precision: str = "float32") -> TrainingConfig:
    """p_gold the same at every update."""
    sampling = {"kind": "linear", "k": p, "c": 0.0, "prediction": prediction}
    return training_config({"scheduled_sampling": sampling, "precision": precision})


def best_inputs(model: Seq2Seq, batch: Batch) -> torch.Tensor:
    """What the inputs would be if each were predicted with teacher forcing, written place by place."""
    logits = model.logits(model(batch.src, batch.src_mask, batch.tgt_in)).detach()
    wanted = batch.tgt_in.clone()
    for row in range(len(wanted)):
        for place in range(1, wanted.shape[1]):
            if batch.tgt_in[row, place] != PAD:
                allowed = [token for token in range(logits.shape[2]) if token not in (PAD, BOS, EOS)]
                wanted[row, place] = max(allowed, key=lambda token: float(logits[row, place - 1, token]))
    return wanted


class TestMixing:
    @pytest.mark.parametrize("name", ["transformer", *RIVALS])
    def test_without_gold_all_is_predicted(self, name: str) -> None:
        """In every kind of model; BOS, padding, sources and what is to be predicted stay."""
        model = tiny_model() if name == "transformer" else rival(name)
        batch = batch_of(PAIRS)
        mixed = mix(model, batch, always(0.0), 1)
        assert torch.equal(mixed.batch.tgt_in, best_inputs(model, batch))
        for field in ("src", "src_mask", "tgt_out"):
            assert getattr(mixed.batch, field) is getattr(batch, field)
        changed = int((mixed.batch.tgt_in != batch.tgt_in).sum())
        assert mixed.replaced == ReplacedInputs(10, 10, changed)
        assert changed > 0

    def test_with_gold_alone_nothing_is_computed(self) -> None:
        def never(_number: int, _read: tuple[int, ...]) -> dict[int, float]:
            raise AssertionError

        batch = collate([([A], [A, B, C])], [0])
        mixed = mix(Told(never), batch, always(1.0), 1)
        assert torch.equal(mixed.batch.tgt_in, batch.tgt_in)
        assert mixed.replaced == ReplacedInputs(3, 0, 0)

    def test_off(self) -> None:
        batch = batch_of(PAIRS)
        mixed = mix(tiny_model(), batch, training_config(), 1)
        assert mixed.batch is batch
        assert mixed.replaced == ReplacedInputs()

    def test_each_token_is_kept_with_probability_p_gold(self) -> None:
        """Of 4,000 tokens, within five standard deviations; by the curve's value at this very update."""
        batch = collate([([A], [B] * 40)] * 100, range(100))
        sampling = {"kind": "linear", "c": 0.1}
        torch.manual_seed(1)
        mixed = mix(Told(lambda _n, _read: {C: 1.0}), batch, training_config({"scheduled_sampling": sampling}), 3)
        assert mixed.replaced.inputs == 4000
        assert mixed.replaced.replaced == mixed.replaced.changed == int((mixed.batch.tgt_in == C).sum())
        assert abs(mixed.replaced.replaced - 0.3 * 4000) < 5 * math.sqrt(4000 * 0.3 * 0.7)

    def test_replaced_by_the_same_token_is_not_changed(self) -> None:
        batch = collate([([A], [B, C, B])], [0])
        mixed = mix(Told(lambda _n, _read: {B: 1.0}), batch, always(0.0), 1)
        assert mixed.batch.tgt_in.tolist() == [[BOS, B, B, B]]
        assert mixed.replaced == ReplacedInputs(3, 3, 1)

    def test_draws_follow_the_probabilities_of_what_may_be_read(self) -> None:
        """The end, a quarter here, is never drawn: two thirds and one third remain."""
        batch = collate([([A], [C] * 40)] * 100, range(100))
        model = Told(lambda _n, _read: {A: 0.5, B: 0.25, EOS: 0.2, BOS: 0.04, PAD: 0.01})
        torch.manual_seed(2)
        drawn = mix(model, batch, always(0.0, "sampled"), 1).batch.tgt_in[:, 1:]
        share = float((drawn == A).float().mean())
        assert int(((drawn == A) | (drawn == B)).sum()) == 4000
        assert abs(share - 2 / 3) < 5 * math.sqrt(2 / 9 / 4000)
        assert set(mix(model, batch, always(0.0), 1).batch.tgt_in[:, 1:].flatten().tolist()) == {A}

    @pytest.mark.parametrize("prediction", ["argmax", "sampled"])
    def test_is_a_function_of_the_generator(self, prediction: str) -> None:
        model, batch = tiny_model().train(), batch_at(0)

        def mixed(seed: int) -> torch.Tensor:
            torch.manual_seed(seed)
            return mix(model, batch, always(0.5, prediction), 1).batch.tgt_in

        assert torch.equal(mixed(3), mixed(3))
        assert len({tuple(mixed(seed).flatten().tolist()) for seed in range(8)}) > 1

    def test_the_first_pass_has_no_gradient_and_leaves_the_model_in_its_mode(self) -> None:
        model = tiny_model({"dropout": 0.5}).train()
        batch = batch_of(PAIRS)
        mixed = mix(model, batch, always(0.0, precision="bfloat16"), 1)
        assert model.training
        assert all(parameter.grad is None for parameter in model.parameters())
        assert not mixed.batch.tgt_in.requires_grad
        compute_loss(model, mixed.batch, training_config()).smoothed.backward()
        assert all(parameter.grad is not None for parameter in model.parameters())

    def test_the_first_pass_has_dropout_where_training_has(self) -> None:
        """Else a model that knows its training pairs by heart would never see an error."""
        noisy, batch = tiny_model({"dropout": 0.5}).train(), batch_at(0)
        found = set()
        for seed in range(5):
            torch.manual_seed(seed)
            found.add(tuple(mix(noisy, batch, always(0.0), 1).batch.tgt_in.flatten().tolist()))
        assert len(found) > 1


SAMPLING: Mapping[str, object] = {"scheduled_sampling": {"kind": "linear", "c": 0.1, "prediction": "sampled"}}


class TestInTraining:
    @pytest.mark.parametrize("accumulate", [1, 2])
    def test_resumes_exactly(self, tmp_path: Path, accumulate: int) -> None:
        changes = {**SAMPLING, "accumulate": accumulate}
        whole = toy(tmp_path / "whole", changes)
        whole.trainer.run(batch_at, held_out_loss)
        logged = []
        for number, stop in enumerate((2, 5)):
            parts = toy(tmp_path / "parts", changes, seed=number)
            torch.manual_seed(number)
            asked: list[int] = []

            def watched(index: int, asked: list[int] = asked) -> Batch:
                asked.append(index)
                return batch_at(index)

            last = stop * accumulate - 1
            with pytest.raises(Interrupted):
                parts.trainer.run(watched, held_out_loss, lambda asked=asked, last=last: asked[-1] >= last)
            logged += parts.log.of("train")
        parts = toy(tmp_path / "parts", changes, seed=9)
        parts.trainer.run(batch_at, held_out_loss)
        logged += parts.log.of("train")
        assert torch.equal(parts.weights(), whole.weights())
        for key in ("p_gold", "inputs_replaced", "inputs_changed", "loss"):
            assert [line[key] for line in logged] == [line[key] for line in whole.log.of("train")], key

    def test_log(self, tmp_path: Path) -> None:
        made = toy(tmp_path, {**SAMPLING, "max_updates": 9})
        made.trainer.run(batch_at, held_out_loss)
        lines = made.log.of("train")
        assert [line["p_gold"] for line in lines] == pytest.approx([0.7, 0.4, 0.1])
        shares = [float(str(line["inputs_replaced"])) for line in lines]
        assert shares[0] < shares[2]
        assert all(line["inputs_changed"] <= line["inputs_replaced"] for line in lines)  # pyright: ignore[reportOperatorIssue]

    def test_without_it_nothing_is_logged_and_nothing_changes(self, tmp_path: Path) -> None:
        """p_gold = 1 draws numbers, so dropout draws others; without dropout the run is the same to the bit."""
        still = {"dropout": 0.0}
        plain = toy(tmp_path / "plain", model_changes=still)
        plain.trainer.run(batch_at, held_out_loss)
        gold = toy(tmp_path / "gold", {"scheduled_sampling": {"kind": "linear", "c": 0.0}}, model_changes=still)
        gold.trainer.run(batch_at, held_out_loss)
        assert "p_gold" not in plain.log.of("train")[0]
        assert torch.equal(plain.weights(), gold.weights())
        assert [line["inputs_replaced"] for line in gold.log.of("train")] == [0.0] * 3

    def test_other_inputs_give_another_model(self, tmp_path: Path) -> None:
        still = {"dropout": 0.0}
        plain = toy(tmp_path / "plain", model_changes=still)
        plain.trainer.run(batch_at, held_out_loss)
        sampled = toy(tmp_path / "sampled", SAMPLING, model_changes=still)
        sampled.trainer.run(batch_at, held_out_loss)
        assert not torch.equal(plain.weights(), sampled.weights())
