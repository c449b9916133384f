"""The precision that is quickest on this machine, by measuring it. Names mislead: int8 can be the slower one.

Knows of a target what `heedful.export.targets` knows.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from heedful.decoding.shortlist import Shortlist
from heedful.errors import HeedfulError
from heedful.export.parity import Engine, Tolerance
from heedful.export.targets import target_module, write_export
from heedful.models.bundle import Bundle

SENTENCES = 64  # of the lines that are given, so many are translated
ROUNDS = 3
EXACT = "float32"
GAIN = 0.95  # another type must take less than this share of the time of float32


class Timing(NamedTuple):
    """Timing of a precision: the least of the rounds, and the share of texts that are those of float32."""

    precision: str
    seconds: float
    equal_texts: float


def measure_precisions(
    bundle: Bundle, target: str, lines: Sequence[str], shortlist: Shortlist | None = None
) -> list[Timing]:
    """Time all precisions in which a target computes on this machine, one after the other in each round.

    Raises HeedfulError where no line has any text.
    """
    sample = _sample(lines)
    module = target_module(target)
    with TemporaryDirectory() as place:
        engines: dict[str, Engine] = {}
        for precision in module.TOLERANCES:
            if module.computes_in(precision):
                folder = Path(place) / precision
                folder.mkdir()
                write_export(bundle, folder, target, precision, shortlist)
                engines[precision] = module.open_export(folder)
        return time_engines(engines, sample)


def time_engines(engines: Mapping[str, Engine], lines: Sequence[str]) -> list[Timing]:
    """Time engines that are named by their precisions, one after the other in each round; one is of float32.

    Raises HeedfulError where no line has any text.
    """
    sample = _sample(lines)
    texts = {name: [found.text for found in engine.translate(sample)] for name, engine in engines.items()}
    rounds = [{name: _seconds(engine, sample) for name, engine in engines.items()} for _ in range(ROUNDS)]
    return [
        Timing(name, min(seconds[name] for seconds in rounds), _equal_share(texts[EXACT], texts[name]))
        for name in engines
    ]


def choose_fastest(timings: Sequence[Timing], tolerances: Mapping[str, Tolerance]) -> str:
    """Choose the fastest of those whose texts agree within their tolerance; float32 where the gain is small."""
    by_name = {timing.precision: timing for timing in timings}
    right = [one for one in timings if one.equal_texts >= tolerances[one.precision].equal_texts]
    quickest = min(right, key=lambda one: one.seconds)
    return quickest.precision if quickest.seconds < GAIN * by_name[EXACT].seconds else EXACT


def _sample(lines: Sequence[str]) -> list[str]:
    sample = [line for line in lines if line.strip()][:SENTENCES]
    if not sample:
        raise HeedfulError("There is no text to measure precisions on.", hint="Name the type: --type float32.")
    return sample


def _seconds(engine: Engine, lines: Sequence[str]) -> float:
    started = time.perf_counter()
    engine.translate(lines)
    return time.perf_counter() - started


def _equal_share(one: Sequence[str], other: Sequence[str]) -> float:
    return sum(left == right for left, right in zip(one, other, strict=True)) / len(one)
