"""Settings of training."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from heedful.config import Config

Count = Annotated[int, Field(gt=0)]
Positive = Annotated[float, Field(gt=0)]


class TrainingConfig(Config):
    """Objective, optimiser, schedule, stopping and keeping. All counts are in updates (optimiser steps), from 1."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1
    smoothing_over: Literal["all", "others", "non_pad"] = Field(
        default="all",
        description="who shares the smoothed mass: all V classes (torch), the V-1 others (t2t), these without padding",
    )
    max_tokens: Count = Field(
        default=4096, description="padded source or target tokens of a batch, whichever is larger"
    )
    accumulate: Count = Field(default=1, description="batches to one update")
    optimizer_betas: Annotated[tuple[float, float], Field(strict=False)] = (0.9, 0.98)
    optimizer_epsilon: Positive = 1e-9
    weight_decay: Annotated[float, Field(ge=0)] = Field(default=0.0, description="decoupled (AdamW); 0 is Adam")
    schedule: Literal["noam", "inverse_sqrt", "linear"] = Field(
        default="noam",
        description="noam: Eq. 3 of the paper; inverse_sqrt: a peak, then 1/sqrt; linear: a peak, then straight to 0",
    )
    learning_rate: Positive = Field(
        default=1.0, description="noam: the factor before Eq. 3 (the paper's is 1); else the peak learning rate"
    )
    warmup_steps: Count = Field(default=4000, description="updates until the peak")
    max_updates: Count = 100_000
    max_minutes: Positive | None = Field(
        default=None, description="stop after so many minutes of training, over all resumptions"
    )
    clip_norm: Positive | None = Field(default=None, description="largest L2 norm of the gradient")
    precision: Literal["float32", "bfloat16", "auto"] = Field(
        default="float32",
        description="bfloat16: matrix products in bf16, weights and sums in float32; auto: the quicker one here",
    )
    validate_every: Count = Field(default=1000, description="updates between validations")
    patience: Count | None = Field(default=None, description="stop after so many validations without a better one")
    select: str = Field(default="loss", description="what chooses the best checkpoint: loss, or the name of a metric")
    keep_last: Count = Field(default=5, description="checkpoints kept beside best and last, for averaging")
    average_last: Annotated[int, Field(ge=0)] = Field(
        default=0, description="the bundle is the mean of so many last checkpoints; 0: the best one"
    )
    log_every: Count = Field(default=50, description="updates between log lines")
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="auto: a GPU where there is one")
    threads: Count | None = Field(default=None, description="CPU threads; left out: torch's choice")

    @model_validator(mode="after")
    def _consistent(self) -> "TrainingConfig":
        if self.average_last > self.keep_last:
            raise ValueError(f"average_last ({self.average_last}) cannot exceed keep_last ({self.keep_last})")
        if self.warmup_steps > self.max_updates:
            raise ValueError(
                f"warmup_steps ({self.warmup_steps}) exceeds max_updates ({self.max_updates}): no peak is reached; "
                "lower warmup_steps"
            )
        return self
