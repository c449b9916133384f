"""The training loop: batches in, checkpoints and log events out.

Knows no text, no metric and no corpus: it asks `batch_at` for the n-th batch and `validate` for a score. Batch number
and randomness are functions of (seed, update), so a run that was killed anywhere goes on as if it had not been.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, final

import torch
from torch import Tensor

from heedful.data.batch import Batch
from heedful.errors import Interrupted
from heedful.events import Report, warn
from heedful.models.interface import Model
from heedful.seeds import seed_of
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.config import TrainingConfig
from heedful.training.divergence import WAY_OUT, Diverged, check_model, check_validation
from heedful.training.objective import Loss, Objective, ReplacedInputs, perplexity
from heedful.training.progress import LogWindow, TrainingProgress
from heedful.training.schedule import learning_rate, time_limit_warning
from heedful.training.scheduled_sampling import shares

SPEED_KNOWN = 0.05  # share of max_minutes after which the speed of training is measured


class Validation(NamedTuple):
    """Result of a validation: named values to log, and the one number that chooses checkpoints (higher is better)."""

    values: dict[str, float]
    score: float


class TrainingOutcome(NamedTuple):
    """Result of a training."""

    progress: TrainingProgress
    reason: str  # "max_updates" | "max_minutes" | "patience"


@final
class Trainer:
    """Drives one model from its last checkpoint to the end of its training."""

    def __init__(
        self,
        model: Model,
        objective: Objective,
        config: TrainingConfig,
        *,
        d_model: int,
        seed: int,
        checkpoints: CheckpointFolder,
        log: Report,
    ) -> None:
        self.model, self.objective, self.config, self.d_model, self.seed = model, objective, config, d_model, seed
        self.checkpoints, self.log = checkpoints, log
        self.optimizer = build_optimizer(model, config)

    def run(
        self,
        batch_at: Callable[[int], Batch],
        validate: Callable[[Model], Validation],
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> TrainingOutcome:
        """Train until `max_updates`, `max_minutes` or lost patience; validated and saved at the end.

        Raises Diverged on a loss, gradient or weight that is not finite, or a loss worse than guessing, before anything
        is written of it; Interrupted, after a checkpoint, when `stop_requested` turns true.
        """
        progress = self.checkpoints.load_last(self.model, self.optimizer)
        self.checkpoints.tidy()
        if self._ended(progress) is not None and not progress.validated:  # interrupted, and the limits lowered since
            progress = self._validate(progress, validate)
            self._save(progress)
        speed_is_known = False
        while (reason := self._ended(progress)) is None:
            started = time.perf_counter()
            update = progress.update + 1
            updated = self.update(update, batch_at)
            spent = time.perf_counter() - started
            window = _joined(progress.window, updated, spent)
            seconds = progress.seconds + spent
            progress = replace(progress, update=update, seconds=seconds, validated=False, window=window)
            if not speed_is_known and self._time_used(progress) >= SPEED_KNOWN:
                speed_is_known = True
                if found := time_limit_warning(self.config, update, seconds):
                    warn(self.log, *found)
            if update % self.config.log_every == 0:
                self._log_window(progress, updated.learning_rate)
                progress = replace(progress, window=LogWindow())
            if update % self.config.validate_every == 0 or self._ended(progress) is not None:
                progress = self._validate(progress, validate)
                self._save(progress)
            if stop_requested() and self._ended(progress) is None:
                if not progress.validated:
                    self._save(progress)
                self.log("interrupted", {"update": update, "seconds": progress.seconds})
                raise Interrupted(f"Stopped after update {update}; the checkpoint is written.")
        return TrainingOutcome(progress, reason)

    def update(self, update: int, batch_at: Callable[[int], Batch]) -> "UpdateResult":
        """Carry out the update of this number, from 1: one optimiser step over `accumulate` batches.

        Losses and gradients are added up, and divided once by the number of tokens. Raises Diverged.
        """
        self.model.train()
        rate = learning_rate(self.config, self.d_model, update)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        losses: list[Loss] = []
        replaced: list[ReplacedInputs] = []
        indices: list[int] = []
        for part in range(self.config.accumulate):
            batch = batch_at((update - 1) * self.config.accumulate + part)
            torch.manual_seed(seed_of(self.seed, update, part))
            loss, of_part = self.objective.training_loss(self.model, batch, update)
            loss.smoothed.backward()
            losses.append(loss)
            replaced.append(of_part)
            indices += batch.indices
        gradients = [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]
        share = 1 / sum(loss.count for loss in losses)
        for gradient in gradients:
            gradient.mul_(share)
        total, norm = added_up(losses, self._clip(gradients))
        self._check(update, total, norm, indices)
        self.optimizer.step()
        return UpdateResult(total, norm, rate, replaced)

    def _clip(self, gradients: list[Tensor]) -> Tensor:
        norm = torch.nn.utils.get_total_norm(gradients)
        if self.config.clip_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), self.config.clip_norm, norm)
        return norm

    def _check(self, update: int, total: "LossSums", norm: float, indices: list[int]) -> None:
        nll = total.nll / total.count
        if not (math.isfinite(nll) and math.isfinite(norm)):
            what = f"the loss is {nll:g}, the gradient's norm {norm:g}"
        elif update > self.config.warmup_steps and nll > 2 * self.objective.uniform_loss(self.model):
            what = f"the loss is {nll:.1f} nats a token, twice that of a uniform guess"
        else:
            return
        raise Diverged(f"Training diverged at update {update}: {what}.", indices, hint=WAY_OUT)

    def _save(self, progress: TrainingProgress) -> None:
        check_model(self.model, progress.update)
        self.checkpoints.save(self.model, self.optimizer, progress)

    def _validate(self, progress: TrainingProgress, validate: Callable[[Model], Validation]) -> TrainingProgress:
        check_model(self.model, progress.update)
        self.model.eval()
        started = time.perf_counter()
        with torch.no_grad():
            found = validate(self.model)
        check_validation(found.values, found.score, progress.update)
        better = found.score > progress.best_score
        progress = replace(
            progress,
            best_update=progress.update if better else progress.best_update,
            best_score=found.score if better else progress.best_score,
            without_better=0 if better else progress.without_better + 1,
            validated=True,
        )
        spent = {"validation_seconds": time.perf_counter() - started}
        where = {"update": progress.update, "seconds": progress.seconds, "best": better}
        self.log("validation", {**where, **found.values, **spent})
        return progress

    def _log_window(self, progress: TrainingProgress, rate: float) -> None:
        window = progress.window
        measured = {
            "loss": window.smoothed / window.count,
            "perplexity": perplexity(window.nll / window.count),
            "learning_rate": rate,
            "gradient_norm": window.norm / window.updates,
            "target_tokens_per_second": window.count / window.seconds,
            **shares(self.config.scheduled_sampling, progress.update, window),
        }
        self.log("train", {"update": progress.update, "seconds": progress.seconds, **measured})

    def _time_used(self, progress: TrainingProgress) -> float:
        """Return the share of `max_minutes` that is used; 0 without a limit."""
        limit = self.config.max_minutes
        return 0.0 if limit is None else progress.seconds / (60 * limit)

    def _ended(self, progress: TrainingProgress) -> str | None:
        config = self.config
        if progress.update >= config.max_updates:
            return "max_updates"
        if self._time_used(progress) >= 1:
            return "max_minutes"
        if config.patience is not None and progress.without_better >= config.patience:
            return "patience"
        return None


class LossSums(NamedTuple):
    """Losses added up, in nats, over `count` tokens."""

    smoothed: float
    nll: float
    count: int


def added_up(losses: list[Loss], norm: Tensor) -> tuple[LossSums, float]:
    """Add up the sums of all batches, and fetch them and the gradient's norm from the device at once: an update waits
    for it once.
    """
    smoothed, nll = (
        torch.stack([getattr(loss, name).detach() for loss in losses]).sum() for name in ("smoothed", "nll")
    )
    values = torch.stack([smoothed.double(), nll.double(), norm.double()]).tolist()
    return LossSums(values[0], values[1], sum(loss.count for loss in losses)), values[2]


class UpdateResult(NamedTuple):
    """Statistics of one update."""

    total: LossSums
    gradient_norm: float  # before clipping
    learning_rate: float
    replaced: list[ReplacedInputs]  # of each batch


def _joined(window: LogWindow, updated: UpdateResult, seconds: float) -> LogWindow:
    """Add one update to the window."""
    return LogWindow(
        window.smoothed + updated.total.smoothed,
        window.nll + updated.total.nll,
        window.count + updated.total.count,
        window.norm + updated.gradient_norm,
        window.updates + 1,
        window.seconds + seconds,
        window.inputs + sum(one.inputs for one in updated.replaced),
        window.replaced + sum(one.replaced for one in updated.replaced),
        window.changed + sum(one.changed for one in updated.replaced),
    )


def build_optimizer(model: Model, config: TrainingConfig) -> torch.optim.Optimizer:
    """Build Adam [Kingma 2015], or AdamW [Loshchilov 2019] with weight decay on matrices only, as one fused kernel."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    return torch.optim.AdamW(
        [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=config.learning_rate,
        betas=config.optimizer_betas,
        eps=config.optimizer_epsilon,
        fused=True,
    )
