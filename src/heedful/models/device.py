"""Where a model computes."""

from typing import Literal

import torch
from torch import nn

from heedful.errors import ConfigError

DeviceName = Literal["auto", "cpu", "cuda"]


def choose_device(name: DeviceName) -> torch.device:
    """The device of this name; "auto" is a GPU where torch sees one. Raises ConfigError for a GPU that is not there."""
    if name == "cuda" and not torch.cuda.is_available():
        hint = 'Use device = "auto" or "cpu", or install a build of torch for your GPU.'
        raise ConfigError('device = "cuda", but torch sees no GPU.', hint=hint)
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def device_of(model: nn.Module) -> torch.device:
    """Where a model's parameters are; a model without any, such as an exported one, computes on the CPU."""
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
