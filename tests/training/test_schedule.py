"""Learning rates against Eq. 3 by hand, and the three schedules against each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.training.toy import training_config

from heedful.training.schedule import inverse_sqrt, learning_rate, linear, noam, time_limit_warning


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (1, 1.746928e-7),
        (100, 1.746928e-5),
        (2000, 3.493856e-4),
        (4000, 6.987712e-4),
        (8000, 4.941059e-4),
        (16000, 3.493856e-4),
        (100000, 1.397542e-4),
    ],
)
def test_noam_of_the_base_model(step: int, rate: float) -> None:
    assert noam(step, 512, 4000) == pytest.approx(rate, rel=1e-6)


def test_noam_of_tensor2tensor_version_2() -> None:
    assert noam(8000, 512, 8000, factor=2.0) == pytest.approx(9.882118e-4, rel=1e-6)


@given(step=st.integers(1, 100_000), warmup=st.integers(1, 10_000))
def test_inverse_sqrt_is_noam_with_its_peak_named(step: int, warmup: int) -> None:
    assert inverse_sqrt(step, noam(warmup, 512, warmup), warmup) == pytest.approx(noam(step, 512, warmup), rel=1e-9)


@pytest.mark.parametrize(("step", "rate"), [(1, 0.25), (4, 1.0), (5, 6 / 7), (10, 1 / 7), (11, 0.0), (12, 0.0)])
def test_linear_by_hand(step: int, rate: float) -> None:
    assert linear(step, 1.0, 4, 10) == pytest.approx(rate)


def test_linear_without_a_way_down() -> None:
    assert linear(10, 1.0, 10, 10) == 1.0


@pytest.mark.parametrize("step", [0, -1])
def test_there_is_no_update_zero(step: int) -> None:
    message = f"`step` counts updates from 1, but is {step}"
    for schedule in (
        lambda: noam(step, 512, 4000),
        lambda: inverse_sqrt(step, 1.0, 10),
        lambda: linear(step, 1.0, 10, 20),
    ):
        with pytest.raises(ValueError, match=message):
            schedule()


@pytest.mark.parametrize(
    ("schedule", "rate"), [("noam", 0.5 * noam(7, 64, 20)), ("inverse_sqrt", 0.5 * 7 / 20), ("linear", 0.5 * 7 / 20)]
)
def test_the_configuration_chooses(schedule: str, rate: float) -> None:
    changes = {"schedule": schedule, "learning_rate": 0.5, "warmup_steps": 20, "max_updates": 100}
    assert learning_rate(training_config(changes), 64, 7) == pytest.approx(rate)


def test_warm_up_longer_than_training_is_refused() -> None:
    with pytest.raises(ValueError, match=r"warmup_steps \(4000\) exceeds max_updates \(300\)"):
        training_config({"warmup_steps": 4000, "max_updates": 300})


def test_averaging_more_than_is_kept_is_refused() -> None:
    with pytest.raises(ValueError, match=r"average_last \(6\) cannot exceed keep_last \(5\)"):
        training_config({"average_last": 6})


class TestTimeLimit:
    """10 updates took 6 seconds, so 2 minutes are 200 updates."""

    def test_inside_warm_up(self) -> None:
        config = training_config({"max_updates": 8000, "warmup_steps": 400, "max_minutes": 2.0})
        assert time_limit_warning(config, 10, 6.0) == (
            "At this speed training.max_minutes = 2 ends training after about 200 of 8,000 updates, inside warm-up, "
            "which takes 400: the learning rate only rises.",
            "Begin anew with a schedule that fits (training.max_updates=200 training.warmup_steps=20), or allow more "
            "minutes.",
        )

    def test_a_linear_schedule_that_does_not_come_down(self) -> None:
        limits = {"max_updates": 1000, "warmup_steps": 50, "max_minutes": 2.0}
        found = time_limit_warning(training_config({**limits, "schedule": "linear"}), 10, 6.0)
        assert found is not None
        assert "about 200 of 1,000 updates, long before its learning rate has come down." in found[0]
        assert "training.max_updates=200 training.warmup_steps=20" in found[1]
        assert time_limit_warning(training_config({**limits, "schedule": "noam"}), 10, 6.0) is None

    @pytest.mark.parametrize("changes", [{}, {"max_minutes": 2.0, "schedule": "linear", "max_updates": 210}])
    def test_all_is_well(self, changes: dict[str, object]) -> None:
        config = training_config({"max_updates": 8000, "warmup_steps": 50, **changes})
        assert time_limit_warning(config, 10, 6.0) is None
