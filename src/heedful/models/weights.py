"""A model's numbers in one safetensors file: no pickle, each shared matrix once.

Knows no configuration and no text; `heedful.models.bundle` adds those.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.text.files import write_bytes

FILE = "model.safetensors"


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The parameters by name; a matrix that stands in several places has the first one's name.

    They are all that is kept: what is not learned, but must be, is a parameter without a gradient, not a buffer.
    """
    lost = model.state_dict().keys() - dict(model.named_parameters(remove_duplicate=False)).keys()
    assert not lost, f"buffers are not kept with the weights: {', '.join(sorted(lost))}"
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file whole or not at all, and onto the disk before returning. Raises CannotWrite."""
    write_bytes(path, save({name: tensor.detach().contiguous() for name, tensor in tensors.items()}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file; the error says when the file is missing or damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
    except FileNotFoundError:
        raise HeedfulError(f"There is no {path}.", hint="Is this folder a bundle, or a checkpoint of a run?") from None
    except SafetensorError as error:
        raise HeedfulError(f"{path} is damaged ({error}).", hint="Copy it again, or use another checkpoint.") from None


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy numbers into a model. Raises HeedfulError unless names and shapes are exactly the model's."""
    own = dict(model.named_parameters())
    for name in sorted(own.keys() ^ tensors.keys()):
        what = "lacks" if name in own else "has, unlike the model,"
        raise HeedfulError(
            f"{origin} {what} `{name}`.", hint="The weights and the configuration are of different models."
        )
    with torch.no_grad():
        for name, parameter in own.items():
            if parameter.shape != tensors[name].shape:
                raise HeedfulError(
                    f"{origin}: `{name}` is {list(tensors[name].shape)}, but the model's is {list(parameter.shape)}.",
                    hint="The weights and the configuration (or the vocabularies) are of different models.",
                )
            parameter.copy_(tensors[name])


def average(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights in several files, in float64 until the end. [Vaswani 2017, 6.1]"""
    if not files:
        raise HeedfulError("There are no checkpoints to average.")
    total = {name: tensor.double() for name, tensor in read_tensors(files[0]).items()}
    for file in files[1:]:
        tensors = read_tensors(file)
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
