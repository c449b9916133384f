"""Settings of training."""

from abc import ABC
from typing import Annotated, Literal

from pydantic import Field, Tag, model_validator

from heedful.config import Config
from heedful.models.device_name import DeviceName
from heedful.sections import by_kind

Count = Annotated[int, Field(gt=0)]
Positive = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]  # at 1, a running mean never moves
Threads = Annotated[int, Field(gt=0, le=1024)]  # many thousands end the process


class ScheduledSampling(Config, ABC):
    """Schedule by which the decoder's reference inputs give way to the model's own predictions: `kind` is the curve of
    p_gold, the probability that an input token stays the reference one, over updates i.
    """

    kind: str
    prediction: Literal["argmax", "sampled"] = Field(
        default="argmax", description="what replaces a gold token: the most probable one, or one drawn"
    )


class InverseSigmoid(ScheduledSampling):
    """p_gold = k / (k + exp(i / k)): near 1 at first, a half at i = k ln k, then towards 0."""

    kind: Literal["inverse_sigmoid"] = "inverse_sigmoid"  # pyright: ignore[reportIncompatibleVariableOverride]
    k: Annotated[float, Field(ge=1)] = Field(description="p_gold is a half at update k ln k")


class Exponential(ScheduledSampling):
    """p_gold = k^i."""

    kind: Literal["exponential"] = "exponential"  # pyright: ignore[reportIncompatibleVariableOverride]
    k: Annotated[float, Field(gt=0, lt=1)] = Field(description="what each update multiplies p_gold by")


class Linear(ScheduledSampling):
    """p_gold = max(floor, k - c i). With c = 0 it stays k."""

    kind: Literal["linear"] = "linear"  # pyright: ignore[reportIncompatibleVariableOverride]
    k: Annotated[float, Field(ge=0, le=1)] = Field(default=1.0, description="p_gold before the first update")
    c: Annotated[float, Field(ge=0)] = Field(description="what each update takes off p_gold")
    floor: Annotated[float, Field(ge=0, le=1)] = Field(default=0.0, description="the least p_gold")

    @model_validator(mode="after")
    def _falls(self) -> "Linear":
        if self.floor > self.k:
            raise ValueError(f"`floor` ({self.floor:g}) exceeds `k` ({self.k:g}), from which p_gold falls")
        return self


AnyScheduledSampling = Annotated[
    Annotated[InverseSigmoid, Tag("inverse_sigmoid")]
    | Annotated[Exponential, Tag("exponential")]
    | Annotated[Linear, Tag("linear")],
    by_kind("inverse_sigmoid"),
]


class TrainingConfig(Config):
    """Objective, optimiser, schedule, stopping and keeping. All counts are in updates (optimiser steps), from 1."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1
    smoothing_over: Literal["all", "others", "non_pad"] = Field(
        default="all",
        description="who shares the smoothed mass: all V classes (torch), the V-1 others (t2t), these without padding",
    )
    positions: Literal["all", "one"] = Field(
        default="all", description="of each target in the loss of an update: all, or one at random, times their number"
    )
    max_tokens: Count = Field(
        default=4096, description="padded source or target tokens of a batch, whichever is larger"
    )
    accumulate: Count = Field(default=1, description="batches to one update")
    optimizer_betas: Annotated[tuple[Decay, Decay], Field(strict=False)] = Field(
        default=(0.9, 0.98), description="Adam's two decay rates: 0 or more, below 1"
    )
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
    scheduled_sampling: AnyScheduledSampling | None = Field(
        default=None, description="train on the model's own predictions, too; left out: on reference inputs only"
    )
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
    device: DeviceName = Field(default="auto", description="auto: a GPU where there is one | cpu | cuda | cuda:1, ...")
    threads: Threads | None = Field(default=None, description="CPU threads; left out: torch's choice")

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
