"""What devices are called in a recipe and in Python. Knows no torch."""

import re
from typing import Annotated

from pydantic import AfterValidator

KNOWN = "auto, cpu, cuda (or gpu), or cuda:1 for the second GPU"


def device_name(name: str) -> str:
    """Return the usual name of a device: "gpu" is "cuda". Raises ValueError for what is none."""
    usual = re.sub(r"^gpu", "cuda", name.lower())
    if re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", usual) is None:
        raise ValueError(f"a device is one of {KNOWN}, but is {name!r}")
    return usual


DeviceName = Annotated[str, AfterValidator(device_name)]
