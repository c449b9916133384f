"""Learning rates against Eq. 3 by hand, and the three schedules against each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.training.toy import training_config

from heedful.training.schedule import inverse_sqrt, learning_rate, linear, noam


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
