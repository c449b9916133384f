"""Checkpoints: everything from which training goes on exactly, written whole or not at all.

`checkpoints/update-00001000/` holds model.safetensors, optimizer.safetensors, progress.json and their checksums. The
text file `last` beside it names the one to resume from, and `best`, for whoever looks, the one with the best
validation, which progress.json says too. Knows no model kind.
"""

import re
import shutil
from pathlib import Path

import torch
from torch import Tensor, nn

from heedful.errors import CannotWrite, HeedfulError
from heedful.models.weights import FILE, load_weights, read_tensors, weights_of, write_tensors
from heedful.records.checksums import forget_checksum, write_checksums
from heedful.text.atomic_files import remove_folder, replacing_folder, restore_folder, sync_folder, write_text
from heedful.training.progress import FILE as PROGRESS
from heedful.training.progress import TrainingProgress, name_of, read_progress, write_progress

OPTIMIZER = "optimizer.safetensors"
NAMED = re.compile(r"(update-\d{8,})|\.(update-\d{8,})\.\d+\.former")


class CheckpointFolder:
    """The checkpoints of one run: `best` and `last` always, and the `keep` newest validated ones."""

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder = folder
        self.keep = keep

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, progress: TrainingProgress) -> None:
        """Write a checkpoint, point `last` (and `best`) to it, then remove what is no longer kept."""
        name = name_of(progress.update)
        try:
            with replacing_folder(self.folder / name) as partial:  # an interruption may have left one of this update
                write_tensors(partial / FILE, weights_of(model))
                write_tensors(partial / OPTIMIZER, _optimizer_tensors(model, optimizer))
                write_progress(partial, progress)
                write_checksums(partial)
            # `best` first: were it second, a kill in between would leave a `last` that thinks `best` points to it.
            if progress.validated and progress.best_update == progress.update:
                write_text(self.folder / "best", name + "\n")
            write_text(self.folder / "last", name + "\n")
            sync_folder(self.folder)
        except (OSError, CannotWrite) as refusal:
            raise CannotWrite(self.folder, refusal) from refusal  # earlier checkpoints are whole
        self.tidy()

    def load_last(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> TrainingProgress:
        """Put the last checkpoint into the model and the optimiser; a fresh Progress where there is none."""
        folder = self.last()
        if folder is None:
            return TrainingProgress()
        progress = read_progress(folder)
        load_weights(model, read_tensors(folder / FILE), folder)
        _load_optimizer(model, optimizer, folder / OPTIMIZER)
        return progress

    def last_progress(self) -> TrainingProgress:
        """Read how far the last checkpoint had come; a fresh Progress where there is none."""
        folder = self.last()
        return TrainingProgress() if folder is None else read_progress(folder)

    def last(self) -> Path | None:
        """Find the checkpoint to resume from: the one that `last` names, or where that is gone, the newest whole one.

        None where there never was one. Raises HeedfulError where there is none that training can go on from.
        """
        pointer = self.folder / "last"
        resumable = [folder for folder in self._whole() if (folder / OPTIMIZER).is_file()]
        if not pointer.is_file():
            if resumable or not self._all():
                return resumable[-1] if resumable else None
            raise HeedfulError(f"{self.folder} has no whole checkpoint to go on from.", hint=self._ways())
        named = pointer.read_text(encoding="utf-8", errors="replace").strip()
        found = next((folder for folder in resumable if folder.name == named), None)
        if found is None:
            raise HeedfulError(f"{pointer} names {named:.40}, which is no whole checkpoint.", hint=self._ways())
        return found

    def best(self) -> Path | None:
        """Find the checkpoint with the best validation; None where none was validated."""
        best = self._best(self.last())
        if best is not None and best not in self._whole():
            raise HeedfulError(f"{best}, the best checkpoint, is gone, or a part of it.", hint=self._ways())
        return best

    def validated(self) -> list[Path]:
        """List the kept checkpoints that were written at a validation, oldest first."""
        return [folder for folder in self._whole() if read_progress(folder).validated]

    def is_begun(self) -> bool:
        """Return whether training has ever written a checkpoint, whether or not it still exists."""
        return (self.folder / "last").exists() or bool(self._all())

    def tidy(self) -> None:
        """Remove what is no longer kept, and what killed processes left. Whoever calls holds the lock of the run."""
        for former in self.folder.glob(".update-*.former"):
            name = NAMED.fullmatch(former.name)
            if name is not None and not (self.folder / name[2]).exists():
                former.rename(self.folder / name[2])
        for pattern in (".update-*", ".best.*", ".last.*"):
            for left in self.folder.glob(pattern):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        last = self.last()
        kept = {*self._averaged(), last, self._best(last)}
        for folder in self._all():
            if folder not in kept:
                remove_folder(folder)
            elif folder != last and (folder / OPTIMIZER).exists():  # only `last` is resumed from
                forget_checksum(folder, OPTIMIZER)
                (folder / OPTIMIZER).unlink()

    def _averaged(self) -> list[Path]:
        """List the newest validated checkpoints, damaged ones included: loading them says what is wrong."""
        validated, damaged = [], []
        for folder in self._whole():
            try:
                validated += [folder] if read_progress(folder).validated else []
            except HeedfulError:
                damaged.append(folder)
        return [*validated[-self.keep :], *damaged]

    def _best(self, last: Path | None) -> Path | None:
        """Return the best checkpoint, as recorded in the last one, whether or not it exists."""
        update = 0 if last is None else read_progress(last).best_update
        return self.folder / name_of(update) if update else None

    def _all(self) -> list[Path]:
        """List the checkpoints, oldest first, incomplete ones and those of a killed process included."""
        found = (NAMED.fullmatch(path.name) for path in self.folder.glob("*update-*"))
        return sorted({self.folder / (match[1] or match[2]) for match in found if match})

    def _whole(self) -> list[Path]:
        """List the checkpoints that have all their files, oldest first."""
        for folder in self._all():
            restore_folder(folder)
        return [folder for folder in self._all() if (folder / FILE).is_file() and (folder / PROGRESS).is_file()]

    def _ways(self) -> str:
        """Say what can be done where a checkpoint is missing."""
        if not (whole := self._whole()):
            return "Put it back from a copy, or begin another run: run=NAME."
        names = ", ".join(folder.name for folder in whole)
        return f"Put it back from a copy, or make a model of {names}: heedful average {self.folder.parent} --last N."


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimiser's state by parameter name: "embed_target.weight/exp_avg", ..."""
    return {
        f"{name}/{part}": tensor
        for name, parameter in model.named_parameters()
        for part, tensor in optimizer.state.get(parameter, {}).items()
    }


def _load_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, path: Path) -> None:
    parameters = dict(model.named_parameters())
    for key, tensor in read_tensors(path).items():
        name, _, part = key.rpartition("/")
        if name not in parameters:
            raise HeedfulError(
                f"{path} has a state of `{name}`, which the model lacks.", hint="It is of another model."
            )
        optimizer.state[parameters[name]][part] = tensor.to(parameters[name].device)
