"""The learning rate of each update, counted from 1. Knows no optimiser."""

from heedful.training.config import TrainingConfig

NEARLY_ALL = 0.9  # of the updates of a linear schedule


def noam(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Compute factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5). [Vaswani 2017, 5.3, Eq. 3]"""
    _check(step)
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def inverse_sqrt(step: int, peak: float, warmup_steps: int) -> float:
    """Rise linearly to `peak` at `warmup_steps`, then fall as peak * sqrt(warmup_steps / step): Eq. 3 with its peak
    named.
    """
    _check(step)
    return peak * min(step / warmup_steps, (warmup_steps / step) ** 0.5)


def linear(step: int, peak: float, warmup_steps: int, max_updates: int) -> float:
    """Rise linearly to `peak` at `warmup_steps`, then fall linearly towards 0, which is reached one update after the
    last.
    """
    _check(step)
    if step <= warmup_steps:
        return peak * step / warmup_steps
    return peak * max(0.0, (max_updates + 1 - step) / (max_updates + 1 - warmup_steps))


def learning_rate(config: TrainingConfig, d_model: int, step: int) -> float:
    """Return the learning rate of this update under a configuration."""
    if config.schedule == "noam":
        return noam(step, d_model, config.warmup_steps, config.learning_rate)
    if config.schedule == "inverse_sqrt":
        return inverse_sqrt(step, config.learning_rate, config.warmup_steps)
    return linear(step, config.learning_rate, config.warmup_steps, config.max_updates)


def time_limit_warning(config: TrainingConfig, update: int, seconds: float) -> tuple[str, str] | None:
    """Return a warning and its way out where `max_minutes`, at the speed so far (`update` updates in `seconds`), ends
    training inside warm-up, or before a linear schedule has come down; None where all is well.
    """
    if config.max_minutes is None or update < 1:
        return None
    expected = max(1, int(60 * config.max_minutes * update / seconds))
    if expected <= config.warmup_steps:
        problem = f"inside warm-up, which takes {config.warmup_steps:,}: the learning rate only rises"
    elif config.schedule == "linear" and expected < NEARLY_ALL * config.max_updates:
        problem = "long before its learning rate has come down"
    else:
        return None
    text = (
        f"At this speed training.max_minutes = {config.max_minutes:g} ends training after about {expected:,} of "
        f"{config.max_updates:,} updates, {problem}."
    )
    warmup = min(config.warmup_steps, max(1, expected // 10))
    fitting = f"training.max_updates={expected} training.warmup_steps={warmup}"
    return text, f"Begin anew with a schedule that fits ({fitting}), or allow more minutes."


def _check(step: int) -> None:
    if step < 1:
        raise ValueError(f"`step` counts updates from 1, but is {step}.")
