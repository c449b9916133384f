"""Checkpoints: everything from which training goes on exactly, written whole or not at all.

`checkpoints/update-00001000/` holds model.safetensors, optimizer.safetensors and progress.json; the text files
`last` and `best` beside it name the one to resume from and the one with the best validation. Knows no model kind.
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from heedful.errors import CannotWrite, HeedfulError
from heedful.models.weights import FILE, load_weights, read_tensors, weights_of, write_tensors


@dataclass(frozen=True)
class Window:
    """What was measured since the last log line: sums in nats over `count` tokens, of norms over updates, and of the
    decoder's input tokens, how many scheduled sampling replaced, and how many became others.
    """

    smoothed: float = 0.0
    nll: float = 0.0
    count: int = 0
    norm: float = 0.0
    updates: int = 0
    seconds: float = 0.0
    inputs: int = 0
    replaced: int = 0
    changed: int = 0


@dataclass(frozen=True)
class Progress:
    """How far training has come. Data position and randomness follow from `update`, so that is all there is."""

    update: int = 0
    seconds: float = 0.0  # of training, over all resumptions
    best_update: int = 0
    best_score: float = float("-inf")  # higher is better
    without_better: int = 0  # validations since the best one
    validated: bool = False  # written at a validation, so it may be averaged
    window: Window = Window()  # what the next log line begins with


class CheckpointFolder:
    """The checkpoints of one run: `best` and `last` always, and the `keep` newest validated ones."""

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder = folder
        self.keep = keep

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
        """Write a checkpoint, point `last` (and `best`) to it, then remove what is no longer kept."""
        name = f"update-{progress.update:08d}"
        partial = self.folder / f".{name}.partial"
        try:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            write_tensors(partial / FILE, weights_of(model))
            write_tensors(partial / "optimizer.safetensors", _optimizer_tensors(model, optimizer))
            _write(partial / "progress.json", json.dumps(asdict(progress), indent=1) + "\n")
            final = self.folder / name
            if final.exists():  # a validated checkpoint replaces the one that an interruption left at the same update
                shutil.rmtree(final)
            partial.rename(final)
            # `best` first: were it second, a kill in between would leave a `last` that thinks `best` points to it.
            if progress.validated and progress.best_update == progress.update:
                _point(self.folder / "best", name)
            _point(self.folder / "last", name)
        except (OSError, CannotWrite) as refusal:
            raise CannotWrite(self.folder, refusal) from refusal  # earlier checkpoints are whole
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        self._remove_superseded()

    def load_last(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
        """Put the last checkpoint into the model and the optimiser; a fresh Progress where there is none."""
        folder = self.last()
        if folder is None:
            return Progress()
        load_weights(model, read_tensors(folder / FILE), folder)
        _load_optimizer(model, optimizer, folder / "optimizer.safetensors")
        return read_progress(folder)

    def last_progress(self) -> Progress:
        """How far the last checkpoint had come; a fresh Progress where there is none."""
        folder = self.last()
        return Progress() if folder is None else read_progress(folder)

    def last(self) -> Path | None:
        """The checkpoint to resume from."""
        return self._pointed("last")

    def best(self) -> Path | None:
        """The checkpoint with the best validation."""
        return self._pointed("best")

    def validated(self) -> list[Path]:
        """The kept checkpoints that were written at a validation, oldest first."""
        return [folder for folder in self._all() if read_progress(folder).validated]

    def _pointed(self, pointer: str) -> Path | None:
        path = self.folder / pointer
        return self.folder / path.read_text(encoding="utf-8").strip() if path.is_file() else None

    def _all(self) -> list[Path]:
        return sorted(self.folder.glob("update-*"))

    def _remove_superseded(self) -> None:
        last, best = self.last(), self.best()
        kept = {*self.validated()[-self.keep :], last, best}
        for folder in self._all():
            if folder not in kept:
                shutil.rmtree(folder)
            elif folder != last:
                (folder / "optimizer.safetensors").unlink(missing_ok=True)  # only `last` is resumed from


def read_progress(folder: Path) -> Progress:
    """The progress.json of a checkpoint; HeedfulError where it is missing or damaged."""
    path = folder / "progress.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return Progress(**{**facts, "window": Window(**facts.get("window", {}))})
    except (OSError, TypeError, ValueError, AttributeError):
        hint = "Write the name of a whole checkpoint (update-...) into the file `last` beside it, then use --resume."
        raise HeedfulError(f"{path} is missing or damaged.", hint=hint) from None


def _point(pointer: Path, name: str) -> None:
    partial = pointer.with_name(f".{pointer.name}.partial")
    _write(partial, name + "\n")
    partial.replace(pointer)


def _write(path: Path, text: str) -> None:
    """Write a text, onto the disk before returning."""
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state by parameter name: "embed_target.weight/exp_avg", ..."""
    return {
        f"{name}/{part}": tensor
        for name, parameter in model.named_parameters()
        for part, tensor in optimizer.state.get(parameter, {}).items()
    }


def _load_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, path: Path) -> None:
    parameters = dict(model.named_parameters())
    for key, tensor in read_tensors(path).items():
        name, part = key.rsplit("/", 1)
        optimizer.state[parameters[name]][part] = tensor.to(parameters[name].device)
