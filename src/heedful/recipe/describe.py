"""What a recipe or a preset comes to: every value with its origin, and the differences between two.

Knows no model and trains nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heedful.config import (
    Difference,
    Layer,
    ResolvedConfig,
    differences,
    flatten,
    parse_overrides,
    read_toml,
    to_tree,
)
from heedful.recipe.presets import preset_layer
from heedful.recipe.recipe import resolve_recipe

NO_DATA = Layer("no data", {"data": {"catalogue": "copy"}})  # a preset has no data, which a recipe must have


class Setting(NamedTuple):
    """One key of a configuration, its value as plain TOML data, and who set it ("default" where nobody did)."""

    key: str
    value: Any
    origin: str


def resolve_named(name: str, overrides: Sequence[str] = ()) -> ResolvedConfig:
    """Resolve a recipe file, or a preset where no file has this name. A preset's `data` is that of a synthetic task.

    Raises ConfigError where it is neither, or where it does not hold.
    """
    if Path(name).exists() or name.endswith(".toml"):
        layers = [read_toml(Path(name))]
    else:
        preset_layer(name)  # an unknown name ends here
        layers = [Layer(f"preset {name}", {"preset": name}), NO_DATA]
    return resolve_recipe([*layers, parse_overrides(overrides)])


def settings(name: str, overrides: Sequence[str] = ()) -> list[Setting]:
    """List every key of a recipe or preset that has a value, in the order of the file that `heedful init` writes."""
    resolved = resolve_named(name, overrides)
    values = flatten(to_tree(resolved.config))
    return [
        Setting(key, value, resolved.origins[key])
        for key, value in values.items()
        if resolved.origins[key] != NO_DATA.origin
    ]


def compare_named(left: str, right: str) -> list[Difference]:
    """List the keys in which two recipes or presets differ."""
    return differences(resolve_named(left).config, resolve_named(right).config)
