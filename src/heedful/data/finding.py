"""What a look at a data set can find, and how places in it are called."""

from typing import Literal, NamedTuple

from heedful.data.survey import Numbers

EXAMPLES = 3


class Finding(NamedTuple):
    """Problem found in data. `place` is split:number, numbers from 1 as lines have them."""

    severity: Literal["error", "warning"]
    kind: str
    place: str
    text: str
    hint: str


def place_in(split: str, numbers: Numbers) -> str:
    """Return the first places of pairs that are numbered from 0: train:3, 17, 20, ..."""
    shown = ", ".join(str(int(number) + 1) for number in numbers[:EXAMPLES])
    return f"{split}:{shown}{', ...' if len(numbers) > EXAMPLES else ''}"
