"""A model's numbers in one safetensors file: no pickle, each shared matrix once.

Knows no configuration and no text; `heedful.models.bundle` adds those.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from heedful.errors import NO_PERMISSION, HeedfulError
from heedful.records.checksums import check_files
from heedful.text.atomic_files import write_bytes

FILE = "model.safetensors"


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters by name; a matrix that is shared has the name of its first place.

    They are all that is kept: what is not learned, but must be, is a parameter without a gradient, not a buffer.
    """
    lost = model.state_dict().keys() - dict(model.named_parameters(remove_duplicate=False)).keys()
    assert not lost, f"buffers are not kept with the weights: {', '.join(sorted(lost))}"
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file whole or not at all, and onto the disk before returning. Raises CannotWrite."""
    write_bytes(path, save({name: tensor.detach().contiguous() for name, tensor in tensors.items()}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file; the error says whether it is missing, unreadable, damaged, or not as it was written."""
    with _opened(path) as file:
        check_files(path.parent, [path.name])
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)


def read_finite(path: Path) -> dict[str, Tensor]:
    """Read the weights of a model: finite numbers, or the error says which are not."""
    tensors = read_tensors(path)
    check_finite(tensors, path)
    return tensors


def read_shapes(path: Path) -> dict[str, list[int]]:
    """Read the shapes of all tensors from the header of a safetensors file, and no numbers."""
    with _opened(path) as file:
        return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118  (no mapping)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a safetensors file; say in words what is wrong with it."""
    try:
        if path.exists() and not path.is_file():
            raise HeedfulError(f"{path} is no regular file.", hint="Copy it again.")
        path.open("rb").close()  # safetensors calls a file missing that may not be read
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise HeedfulError(f"There is no {path}.", hint="Is this folder a bundle, or a checkpoint of a run?") from None
    except SafetensorError as error:
        raise HeedfulError(f"{path} is damaged ({error}).", hint="Copy it again, or use another checkpoint.") from None
    except OSError as error:
        raise HeedfulError(f"{path} cannot be read: {error.strerror}.", hint=NO_PERMISSION) from None


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy numbers into a model.

    Raises HeedfulError unless names and shapes are exactly the model's, and all numbers finite.
    """
    check_shapes(model, {name: list(tensor.shape) for name, tensor in tensors.items()}, origin)
    check_finite(tensors, origin)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])


def check_shapes(model: nn.Module, shapes: Mapping[str, list[int]], origin: Path) -> None:
    """Raise HeedfulError unless these are the names and shapes of the model's parameters."""
    own = dict(model.named_parameters())
    for name in sorted(own.keys() ^ shapes.keys()):
        what = "lacks" if name in own else "has, unlike the model,"
        raise HeedfulError(
            f"{origin} {what} `{name}`.", hint="The weights and the configuration are of different models."
        )
    for name, parameter in own.items():
        if list(parameter.shape) != shapes[name]:
            raise HeedfulError(
                f"{origin}: `{name}` is {shapes[name]}, but the model's is {list(parameter.shape)}.",
                hint="The weights and the configuration (or the vocabularies) are of different models.",
            )


def check_finite(tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Raise HeedfulError that names the first tensor with a number that is infinite or none (NaN)."""
    for name, tensor in tensors.items():
        if not is_finite(tensor):
            hint = "Training diverged, or the file is damaged: copy it again, or use another checkpoint."
            raise HeedfulError(f"{origin}: `{name}` has numbers that are not finite.", hint=hint)


def is_finite(tensor: Tensor) -> bool:
    """Return whether all numbers are finite, in one pass: then their sum is, unless it overflows, and each must be
    looked at.
    """
    if not tensor.is_floating_point():
        return True
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


def average(files: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of several files, in float64 until the end. [Vaswani 2017, 6.1]"""
    if not files:
        raise HeedfulError("There are no checkpoints to average.")
    total = {name: tensor.double() for name, tensor in read_finite(files[0]).items()}
    for file in files[1:]:
        tensors = read_finite(file)
        if tensors.keys() != total.keys():
            raise HeedfulError(
                f"{file} and {files[0]} hold different weights.", hint="Average checkpoints of one run only."
            )
        for name, tensor in tensors.items():
            total[name] += tensor
    return {name: (tensor / len(files)).float() for name, tensor in total.items()}


def count_parameters(model: nn.Module) -> int:
    """Count the trainable numbers; a shared matrix counts once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
