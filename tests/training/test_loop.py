"""The training loop: exact resumption, accumulation, stopping, choosing, and divergence."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from tests.training.toy import Toy, batch_at, held_out_loss, pairs_of, scores, toy, training_config

from heedful.data.batch import Batch, collate
from heedful.errors import Interrupted
from heedful.training.divergence import Diverged
from heedful.training.loop import TrainingOutcome
from heedful.training.progress import read_progress
from heedful.training.schedule import learning_rate


def stopped_after(made: Toy, update: int, accumulate: int) -> None:
    """Train until a stop is asked for in the middle of this update."""
    seen = [0]

    def watched(index: int) -> Batch:
        seen[0] = index
        return batch_at(index)

    with pytest.raises(Interrupted, match=f"Stopped after update {update}; the checkpoint is written"):
        made.trainer.run(watched, held_out_loss, lambda: seen[0] >= (update - 1) * accumulate)


@pytest.fixture(scope="module", params=[1, 3], ids=["single", "accumulated"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Toy, TrainingOutcome, int]:
    """A run that nothing interrupted, how it ended, and its batches to an update."""
    made = toy(tmp_path_factory.mktemp("whole"), {"accumulate": request.param})
    return made, made.trainer.run(batch_at, held_out_loss), request.param


class TestResumption:
    """A run that was interrupted anywhere ends with the very same bits as one that was not."""

    @pytest.mark.parametrize("update", range(1, 9))
    def test_once(self, whole: tuple[Toy, TrainingOutcome, int], tmp_path: Path, update: int) -> None:
        expected, outcome, accumulate = whole
        self.check(tmp_path, expected, outcome, accumulate, [update])

    def test_many_times(self, whole: tuple[Toy, TrainingOutcome, int], tmp_path: Path) -> None:
        expected, outcome, accumulate = whole
        self.check(tmp_path, expected, outcome, accumulate, [1, 2, 4, 7, 8])

    def check(self, folder: Path, expected: Toy, outcome: TrainingOutcome, accumulate: int, stops: list[int]) -> None:
        changes = {"accumulate": accumulate}
        logged = []
        for number, stop in enumerate(stops):
            made = toy(folder, changes, seed=number)  # only the first one begins with these weights
            torch.manual_seed(number)
            stopped_after(made, stop, accumulate)
            logged += made.log.of("train")
            last = made.checkpoints.last()
            assert last is not None
            assert read_progress(last).validated == (stop % 4 == 0)
        made = toy(folder, changes, seed=99)
        found = made.trainer.run(batch_at, held_out_loss)
        logged += made.log.of("train")
        assert torch.equal(made.weights(), expected.weights())
        for key in ("update", "loss", "perplexity", "learning_rate", "gradient_norm"):
            curve = [line[key] for line in expected.log.of("train")]
            assert [line[key] for line in logged] == pytest.approx(curve), key
        assert (found.reason, found.progress.best_score) == (outcome.reason, outcome.progress.best_score)
        done = [path.name for path in made.checkpoints.validated()]
        assert done == [path.name for path in expected.checkpoints.validated()]

    def test_the_seed_of_training_matters(self, whole: tuple[Toy, TrainingOutcome, int], tmp_path: Path) -> None:
        """Else the tests above would pass without any dropout."""
        expected, _, accumulate = whole
        made = toy(tmp_path, {"accumulate": accumulate})
        made.trainer.seed = 6
        made.trainer.run(batch_at, held_out_loss)
        assert not torch.equal(made.weights(), expected.weights())

    def test_a_finished_run_is_left_alone(self, whole: tuple[Toy, TrainingOutcome, int]) -> None:
        expected, outcome, accumulate = whole
        made = toy(expected.checkpoints.folder, {"accumulate": accumulate}, seed=3)

        def never(_index: int) -> Batch:
            raise AssertionError

        assert made.trainer.run(never, held_out_loss) == outcome


def test_limits_lowered_below_an_interruption(tmp_path: Path) -> None:
    """What was not validated when it was interrupted is, before it counts as an end."""
    stopped_after(toy(tmp_path), 3, 1)
    made = toy(tmp_path, {"max_updates": 3})
    outcome = made.trainer.run(batch_at, held_out_loss)
    assert (outcome.reason, outcome.progress.update, outcome.progress.validated) == ("max_updates", 3, True)
    assert made.checkpoints.best() == made.checkpoints.last() == tmp_path / "update-00000003"


def test_a_stop_that_comes_after_the_save_was_decided_is_saved_too(tmp_path: Path) -> None:
    """The signal may arrive between any two lines."""
    for quiet in range(4):
        made = toy(tmp_path / str(quiet))
        answers = iter([False] * quiet)
        with pytest.raises(Interrupted) as caught:
            made.trainer.run(batch_at, held_out_loss, lambda answers=answers: next(answers, True))
        assert f"after update {made.checkpoints.last_progress().update};" in caught.value.message


@pytest.mark.parametrize("clip_norm", [None, 0.5])
def test_accumulation_is_one_big_batch(tmp_path: Path, clip_norm: float | None) -> None:
    shared = {"max_updates": 3, "optimizer_epsilon": 1e-3, "clip_norm": clip_norm}
    still = {"dropout": 0.0}
    small = toy(tmp_path / "small", {**shared, "accumulate": 4}, model_changes=still)
    small.trainer.run(batch_at, held_out_loss)

    def joined(index: int) -> Batch:
        return collate(
            [pair for part in range(4) for pair in pairs_of(4 * index + part)], range(12 * index, 12 * index + 12)
        )

    big = toy(tmp_path / "big", shared, model_changes=still)
    big.trainer.run(joined, held_out_loss)
    torch.testing.assert_close(small.weights(), big.weights(), atol=1e-9, rtol=1e-9)


def test_batches_are_asked_for_once_and_in_order(tmp_path: Path) -> None:
    asked: list[int] = []

    def watched(index: int) -> Batch:
        asked.append(index)
        return batch_at(index)

    toy(tmp_path, {"accumulate": 2}).trainer.run(watched, held_out_loss)
    assert asked == list(range(18))


def test_log(tmp_path: Path) -> None:
    made = toy(tmp_path, {"clip_norm": 1.0})
    made.trainer.run(batch_at, held_out_loss)
    config = training_config()
    train = made.log.of("train")
    assert [facts["update"] for facts in train] == [3, 6, 9]
    assert [facts["learning_rate"] for facts in train] == [learning_rate(config, 12, update) for update in (3, 6, 9)]
    validations = made.log.of("validation")
    assert [facts["update"] for facts in validations] == [4, 8, 9]
    assert all(facts["seconds"] > 0 for facts in validations)  # pyright: ignore[reportOperatorIssue]


def test_the_gradient_is_clipped(tmp_path: Path) -> None:
    """With a vanishing norm nothing but the direction is left, and Adam's epsilon makes the step vanish too."""
    made = toy(tmp_path, {"clip_norm": 1e-12, "optimizer_epsilon": 1.0})
    before = made.weights()
    made.trainer.run(batch_at, held_out_loss)
    assert not torch.equal(made.weights(), before)
    torch.testing.assert_close(made.weights(), before, atol=1e-10, rtol=0)


def norm_stepped_with(folder: Path, clip_norm: float | None) -> float:
    """The norm of the gradient that the optimiser is given at the first update."""
    norms: list[float] = []
    made = toy(folder, {"max_updates": 2, "accumulate": 2, "clip_norm": clip_norm}, model_changes={"dropout": 0.0})

    def seen(*_: object) -> None:
        gradients = [parameter.grad for parameter in made.model.parameters() if parameter.grad is not None]
        norms.append(float(torch.nn.utils.get_total_norm(gradients)))

    made.trainer.optimizer.register_step_pre_hook(seen)
    made.trainer.run(batch_at, held_out_loss)
    norm, _ = norms
    return norm


def test_what_is_clipped_is_the_mean_over_tokens(tmp_path: Path) -> None:
    """Clipped before the division by the number of tokens, a gradient would come out smaller by that number."""
    free = norm_stepped_with(tmp_path / "free", None)
    assert norm_stepped_with(tmp_path / "below", free / 2) == pytest.approx(free / 2, rel=1e-4)
    assert norm_stepped_with(tmp_path / "above", free * 2) == pytest.approx(free, rel=1e-6)


def test_weight_decay_is_for_matrices(tmp_path: Path) -> None:
    made = toy(tmp_path, {"weight_decay": 0.3})
    decays = {id(p): group["weight_decay"] for group in made.trainer.optimizer.param_groups for p in group["params"]}
    assert {(p.dim() > 1, decays[id(p)]) for p in made.model.parameters()} == {(True, 0.3), (False, 0.0)}
    assert len(decays) == len(list(made.model.parameters()))


class TestStopping:
    @pytest.mark.parametrize(
        ("values", "update", "best"),
        [((1.0, 0.5, 0.9), 6, 2), ((1.0, 1.0, 1.0), 6, 2), ((1.0, 0.5, 2.0, 1.0, 1.5), 10, 6)],
    )
    def test_patience(self, tmp_path: Path, values: tuple[float, ...], update: int, best: int) -> None:
        """Two validations in a row that are no better; equal is not better."""
        made = toy(tmp_path, {"validate_every": 2, "patience": 2, "max_updates": 100})
        outcome = made.trainer.run(batch_at, scores(*values))
        assert (outcome.reason, outcome.progress.update, outcome.progress.best_update) == ("patience", update, best)
        assert made.checkpoints.best() == tmp_path / f"update-{best:08d}"

    def test_max_updates_is_validated_and_saved(self, tmp_path: Path) -> None:
        made = toy(tmp_path, {"max_updates": 5})
        outcome = made.trainer.run(batch_at, held_out_loss)
        assert (outcome.reason, outcome.progress.update, outcome.progress.validated) == ("max_updates", 5, True)
        assert made.checkpoints.last() == tmp_path / "update-00000005"

    def test_max_minutes_counts_over_resumptions(self, tmp_path: Path) -> None:
        made = toy(tmp_path, {"max_updates": 1, "warmup_steps": 1})
        first = made.trainer.run(batch_at, held_out_loss).progress
        enough = toy(tmp_path, {"max_updates": 100, "warmup_steps": 1, "max_minutes": 0.99 * first.seconds / 60})
        assert enough.trainer.run(batch_at, held_out_loss) == TrainingOutcome(first, "max_minutes")
        more = toy(tmp_path, {"max_updates": 10_000, "max_minutes": (first.seconds + 1e-9) / 60})
        outcome = more.trainer.run(batch_at, held_out_loss)
        assert (outcome.reason, outcome.progress.update, outcome.progress.validated) == ("max_minutes", 2, True)

    def test_a_time_that_ends_inside_warm_up_is_said_once(self, tmp_path: Path) -> None:
        made = toy(tmp_path, {"max_updates": 100_000, "warmup_steps": 50_000, "max_minutes": 0.5 / 60})
        made.trainer.run(batch_at, held_out_loss)
        (facts,) = made.log.of("data warning")
        assert "of 100,000 updates, inside warm-up, which takes 50,000" in str(facts["text"])


class TestDivergence:
    """The error names the update and the pairs of its batches; the last checkpoint is from before."""

    def run(self, folder: Path, changes: Mapping[str, object], at: int, poison) -> tuple[Toy, Diverged]:
        made = toy(folder, {"validate_every": 2, "accumulate": 2, **changes})

        def poisoned(index: int) -> Batch:
            if index == 2 * (at - 1):
                poison(made)
            return batch_at(index)

        with pytest.raises(Diverged) as caught:
            made.trainer.run(poisoned, held_out_loss)
        assert "training.learning_rate" in (caught.value.hint or "")
        return made, caught.value

    def test_a_loss_that_is_no_number(self, tmp_path: Path) -> None:
        def poison(made: Toy) -> None:
            made.model.embed_target.weight.data[5] = float("nan")

        made, error = self.run(tmp_path, {}, 3, poison)
        assert "diverged at update 3: the loss is nan" in error.message
        assert error.indices == list(range(12, 18))
        last = made.checkpoints.last()
        assert last is not None
        assert last.name == "update-00000002"
        made.checkpoints.load_last(made.model, made.trainer.optimizer)
        assert made.weights().isfinite().all()

    def test_a_gradient_that_is_no_number(self, tmp_path: Path) -> None:
        def poison(made: Toy) -> None:
            made.model.embed_target.weight.register_hook(lambda gradient: gradient * float("inf"))

        made, error = self.run(tmp_path, {}, 4, poison)
        assert "update 4: the loss is" in error.message
        assert "norm nan" in error.message or "norm inf" in error.message
        assert made.weights().isfinite().all()

    def test_worse_than_guessing(self, tmp_path: Path) -> None:
        def poison(made: Toy) -> None:
            made.model.embed_target.weight.data *= 1000

        _, error = self.run(tmp_path, {}, 3, poison)
        assert "nats a token, twice that of a uniform guess" in error.message

    def test_a_bad_start_is_not_yet_divergence(self, tmp_path: Path) -> None:
        made = toy(tmp_path, {"warmup_steps": 3, "max_updates": 3})
        made.model.embed_target.weight.data *= 1000
        assert made.trainer.run(batch_at, held_out_loss).reason == "max_updates"
