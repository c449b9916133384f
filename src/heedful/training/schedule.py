"""The learning rate of each update, counted from 1. Knows no optimiser."""

from heedful.training.config import TrainingConfig


def noam(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Compute factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5). [Vaswani 2017, 5.3, Eq. 3]"""
    _check(step)
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def inverse_sqrt(step: int, peak: float, warmup_steps: int) -> float:
    """Linear to `peak` at `warmup_steps`, then peak * sqrt(warmup_steps / step): Eq. 3 with its peak named."""
    _check(step)
    return peak * min(step / warmup_steps, (warmup_steps / step) ** 0.5)


def linear(step: int, peak: float, warmup_steps: int, max_updates: int) -> float:
    """Linear to `peak` at `warmup_steps`, then linear towards 0, which is reached one update after the last."""
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


def _check(step: int) -> None:
    if step < 1:
        raise ValueError(f"`step` counts updates from 1, but is {step}.")
