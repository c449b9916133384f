"""Whether the sizes that a configuration claims can be those of some weights, found before anything is built.

Whoever sends a bundle chooses its numbers: a thousand million layers would keep a machine busy for hours. Knows no kind
of model.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

from pydantic import BaseModel

from heedful.errors import HeedfulError
from heedful.models.config import ModelConfig

USUAL_DEPTH = 100  # layers or hops, which may share their weights
USUAL_SIZE = 100_000  # of what has no weights, such as windows
DEEP = ("layers", "hops")


def refuse_impossible_sizes(config: ModelConfig, shapes: Mapping[str, Sequence[int]], origin: Path) -> None:
    """Raise HeedfulError that names the first size which these weights do not bear out.

    A width is no larger than the weights have numbers, and there are no more layers than tensors.
    """
    numbers = sum(prod(shape) for shape in shapes.values())
    for name, value in _sizes(config):
        if name in config.limits:
            continue
        deep = name.endswith(DEEP)
        most = max(USUAL_DEPTH, len(shapes)) if deep else max(USUAL_SIZE, numbers)
        if value > most:
            has = f"{len(shapes):,} tensors" if deep else f"{numbers:,} numbers"
            hint = "The recipe and the weights are of different models: copy the folder again."
            raise HeedfulError(f"`model.{name}` is {value:,}, but {origin} has only {has}.", hint=hint)


def _sizes(config: BaseModel) -> Iterator[tuple[str, int]]:
    """Yield every integer of a configuration and of its tables, by dotted name."""
    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            yield from ((f"{name}.{inner}", size) for inner, size in _sizes(value))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield name, value
