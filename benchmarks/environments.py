"""Environments of the peers: one ignored folder each at the repository's root, with pinned packages from PyPI.

Every environment sees this interpreter's torch and Heedful through a .pth file, so that all run on the same torch.
"""

import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from measure import ROOT, say


class Environment(NamedTuple):
    """What is installed, in this order; `alone` without what it asks for, which is named in `packages` instead."""

    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()


ENVIRONMENTS = {
    "main": Environment(
        (
            "transformers==5.24.0",
            "x-transformers==2.31.10",
            "ctranslate2==4.8.5",
            "onnx==1.23.2",
            "onnxruntime==1.32.0",
        )
    ),
    # Its own requirements cannot be resolved any more: an old omegaconf whose metadata today's pip refuses.
    "fairseq": Environment(
        ("numpy==1.23.5", "omegaconf==2.3.1", "hydra-core==1.3.8", "bitarray==3.12.3"), alone=("fairseq==0.12.2",)
    ),
    # Of Eole only the model is timed; spacy, datasets and the rest of its 25 requirements are not imported for that.
    "eole": Environment(
        ("configargparse==1.9.0", "pyonmttok==1.38.1", "ctranslate2==4.8.5", "six==1.17.0"), alone=("eole==0.6.4",)
    ),
    "marian": Environment(("pymarian==1.12.42",)),
}


def python_of(name: str) -> str:
    """The interpreter of an environment, which is made when it is missing; half-made ones are made anew."""
    folder = ROOT / (".venv-peers" if name == "main" else f".venv-peers-{name}")
    python, mark = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join([*ENVIRONMENTS[name].packages, *ENVIRONMENTS[name].alone]) + "\n"
    if not mark.exists() or mark.read_text() != wanted:
        started = time.perf_counter()
        _install(ENVIRONMENTS[name], folder, python)
        mark.write_text(wanted)
        say(f"{folder.name} was installed in {time.perf_counter() - started:.0f} s")
    _share(folder)
    return str(python)


def _install(environment: Environment, folder: Path, python: Path) -> None:
    _call([sys.executable, "-m", "venv", "--clear", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    if environment.alone:  # before torch is seen: a setup script that finds it would compile against it
        _call([*pip, "--no-deps", *environment.alone])
    _share(folder)
    _call([*pip, *environment.packages])


def _share(folder: Path) -> None:
    """Let an environment see this interpreter's torch, and Heedful, whose tokenisers the decoders use."""
    places = []
    for package in ("torch", "heedful"):
        found = find_spec(package)
        assert found is not None
        assert found.origin is not None
        places.append(Path(found.origin).parent.parent)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "same_torch.pth").write_text("".join(f"{place}\n" for place in dict.fromkeys(places)))


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
