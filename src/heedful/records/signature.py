"""The signature that travels with a number: which data, which metric, which search, which seed.

Does not know how any of these is computed.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

FIELDS = ("data", "split", "decode", "seed", "metric")


class Signature(NamedTuple):
    """Signature of a number; as text `data:3f.|split:test|decode:beam=5|seed:1|metric:bleu|nrefs:1|case:mixed|..`.

    `data` is `heedful.records.manifest.data_hash`; `counting` is the metric's own signature, with "|" and ":" in it.
    """

    data: str
    split: str
    decode: str
    seed: int
    metric: str
    counting: str

    def __str__(self) -> str:
        plain = {"data": self.data, "split": self.split, "decode": self.decode, "metric": self.metric}
        for field, value in plain.items():
            if "|" in value:
                raise ValueError(f'`{field}` may not hold "|" in a signature, but is {value!r}.')
        values = {**plain, "seed": self.seed}
        return "|".join([*(f"{field}:{values[field]}" for field in FIELDS), self.counting])


def parse_signature(text: str) -> Signature:
    """Read a signature back from its text. Raises ValueError where it is none."""
    *parts, counting = text.split("|", maxsplit=len(FIELDS))
    values: dict[str, str] = {}
    for part in parts:
        field, _, value = part.partition(":")
        values[field] = value
    if tuple(values) != FIELDS or not values["seed"].removeprefix("-").isdigit():
        raise ValueError(f"`text` must be a signature such as data:...|split:...|decode:..., but is {text!r}.")
    return Signature(
        data=values["data"],
        split=values["split"],
        decode=values["decode"],
        seed=int(values["seed"]),
        metric=values["metric"],
        counting=counting,
    )


def comparable(a: Signature, b: Signature) -> str | None:
    """Say why two numbers must not be compared; None where they may be.

    Search and seed may differ: they are among the things that one compares. Data, split and counting may not.
    """
    if a.split != b.split:
        return f"different splits ({a.split} and {b.split})"
    if a.data != b.data:
        return f"different data in the split {a.split} (hashes {a.data} and {b.data})"
    if a.metric != b.metric:
        return f"different metrics ({a.metric} and {b.metric})"
    if a.counting != b.counting:
        return f"{a.metric} counted differently ({a.counting} and {b.counting})"
    return None


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Format settings as one word, in alphabetical order: `beam=5,length_penalty=0.6`. None values are left out."""
    return ",".join(f"{key}={settings[key]}" for key in sorted(settings) if settings[key] is not None)
