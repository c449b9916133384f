"""Where a model computes."""

import torch
from torch import nn

from heedful.errors import ConfigError, counted
from heedful.models.device_name import device_name


def choose_device(name: str) -> torch.device:
    """Return the device of this name (see `device_name`); "auto" is a GPU where torch sees one.

    Raises ValueError for a name of none, and ConfigError for a GPU that is not there.
    """
    name = device_name(name)
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return torch.device("cuda" if n_gpus else "cpu")
    if name.startswith("cuda") and int(name.partition(":")[2] or 0) >= n_gpus:
        hint = 'Use device = "auto" or "cpu", or install a build of torch for your GPU.'
        seen = "no GPU"
        if n_gpus:
            hint = f'They are called "cuda:0" to "cuda:{n_gpus - 1}"; "cuda" is the first.'
            seen = f"only {counted(n_gpus, 'GPU')}"
        raise ConfigError(f'device = "{name}", but torch sees {seen}.', hint=hint)
    return torch.device(name)


def device_of(model: nn.Module) -> torch.device:
    """Return the device of a model's parameters; the CPU for a model without any, such as an exported one."""
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
