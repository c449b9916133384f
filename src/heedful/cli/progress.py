"""What training shows while it runs: a live line on a terminal, plain lines every few seconds elsewhere. On
standard error.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PLAIN_EVERY = 10.0  # seconds between plain lines
LARGEST_PERPLEXITY = 1_000_000  # no vocabulary is so large: beyond, it only says that the model is far off

_STAGES = {
    "checking": "reading the data",
    "tokenizers": "learning the tokenizers",
    "encoding": "encoding the corpora",
    "evaluating": "translating the {split} split with the final model",
}


class TrainingDisplay:
    """A report for `heedful.pipeline.train.train`; a context manager, since a live line must be closed.

    `max_updates` and `max_minutes` are the ends that the bar moves to, whichever is nearer.
    """

    def __init__(self, max_updates: int, max_minutes: float | None) -> None:
        self.max_updates, self.max_minutes = max_updates, max_minutes
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self.last_plain = float("-inf")
        self.live: Progress | None = None
        self.task = TaskID(0)

    def __enter__(self) -> "TrainingDisplay":
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def __call__(self, event: str, facts: Mapping[str, Any]) -> None:
        if event == "train":
            self._advance(facts)
        elif event == "validation":
            self.console.print(_validation(facts), soft_wrap=True)
        elif event in _STAGES:
            self._close()
            self.console.print(_STAGES[event].format(**facts), soft_wrap=True)
        elif event == "data warning":
            self.console.print(f"warning: {facts['text']}\nhint: {facts['hint']}", soft_wrap=True)
        elif event == "resumed":
            self.console.print(_resumed(facts), soft_wrap=True)
        elif event == "prepared":
            self.console.print(_prepared(facts), soft_wrap=True)
        elif event == "preflight":
            padding, batches = facts["padding_share"], facts["batches_per_epoch"]
            shape = f"{facts['parameters']:,} parameters; {batches:,} batches an epoch, {padding:.1%} padding"
            self.console.print(shape)
            if facts["p_gold"]:
                self.console.print(gold_inputs(facts["p_gold"]), soft_wrap=True)
        elif event == "waiting":
            self.console.print(_waiting(facts), soft_wrap=True)
        elif event == "ended":
            self._close()
            done = f"{self._of_all(facts['update'])} updates, {facts['seconds']:.0f} s"
            self.console.print(f"training ended ({facts['reason']}) after {done}")

    def _advance(self, facts: Mapping[str, Any]) -> None:
        line = (
            f"update {self._of_all(facts['update'])}  loss {facts['loss']:.3f}  perplexity {_perplexity(facts)}  "
            f"lr {facts['learning_rate']:.2e}  {facts['target_tokens_per_second']:,.0f} tokens/s"
        )
        if not self.console.is_terminal:
            if time.monotonic() - self.last_plain >= PLAIN_EVERY:
                self.last_plain = time.monotonic()
                left = _left(facts["seconds"], self._share(facts))
                self.console.print(f"{line}  {facts['seconds']:.0f} s{left}", soft_wrap=True)
            return
        if self.live is None:
            columns = (
                SpinnerColumn(),
                BarColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            self.live = Progress(*columns, console=self.console)
            self.live.start()
            self.task = self.live.add_task("training", total=1.0)
        self.live.update(self.task, description=line, completed=self._share(facts))

    def _of_all(self, update: int) -> str:
        """Format a number of updates with the last one, where that is an end and not only time is."""
        return f"{update:,} of {self.max_updates:,}" if self.max_updates < sys.maxsize else f"{update:,}"

    def _share(self, facts: Mapping[str, Any]) -> float:
        by_updates = facts["update"] / self.max_updates
        by_time = facts["seconds"] / (60 * self.max_minutes) if self.max_minutes else 0.0
        return max(by_updates, by_time)

    def _close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None


def _left(seconds: float, share: float) -> str:
    """Estimate the time to the end, from the seconds of training so far and their share of all."""
    left = seconds * (1 - share) / share if share else 0.0
    if left <= 0:
        return ""
    if left < 100:
        return f", about {left:.0f} s left"
    return f", about {left / 60:.0f} min left" if left < 6000 else f", about {left / 3600:.1f} h left"


def _waiting(facts: Mapping[str, Any]) -> str:
    accumulate, log_every = facts["accumulate"], facts["log_every"]
    line = f"each update adds up {accumulate:,} batches, and there is a line every {log_every:,} updates"
    return f"{line}: the first after {accumulate * log_every:,} batches (training.log_every has it sooner)"


def gold_inputs(p_gold: Sequence[tuple[int, float]]) -> str:
    """Describe the schedule of scheduled sampling in a line."""
    curve = ", ".join(f"{p:.3f} at update {update:,}" for update, p in p_gold)
    return f"scheduled sampling: an input token stays that of the reference with probability {curve}"


def _perplexity(facts: Mapping[str, Any]) -> str:
    """Format a perplexity with two decimals, as long as they mean something."""
    value = facts["perplexity"]
    return f"{value:,.2f}" if value < LARGEST_PERPLEXITY else f"over {LARGEST_PERPLEXITY:,}"


def _resumed(facts: Mapping[str, Any]) -> str:
    minutes = f", or {facts['max_minutes']:g} minutes of training in all" if "max_minutes" in facts else ""
    changed = f"; changed: {', '.join(facts['changed'])}" if facts["changed"] else ""
    return f"going on from update {facts['done']:,}, up to {facts['max_updates']:,}{minutes}{changed}"


def _prepared(facts: Mapping[str, Any]) -> str:
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in facts["dropped"].items() if count)
    left_out = f" ({dropped} left out)" if dropped else ""
    sizes = f"{facts['source_size']:,} source and {facts['target_size']:,} target symbols"
    return f"{facts['train_pairs']:,} training pairs{left_out}, {facts['dev_pairs']:,} dev pairs; {sizes}"


def _validation(facts: Mapping[str, Any]) -> str:
    known = ("update", "seconds", "best", "loss", "perplexity", "tokens", "sentences", "validation_seconds")
    metrics = "".join(f"  {name} {value:.2f}" for name, value in facts.items() if name not in known)
    mark = "  (best so far)" if facts["best"] else ""
    loss = f"loss {facts['loss']:.3f}  perplexity {_perplexity(facts)}"
    return f"validation at update {facts['update']:,}: {loss}{metrics}{mark}"
